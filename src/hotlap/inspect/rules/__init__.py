"""The rules: one file each, with ``RULE`` (what it is) and ``find`` (Case to findings).

Pages: ``docs/reference/findings/HLnnn.md``. A test each: ``tests/inspect/rules/test_<file>.py``, with a model
that has it and one that does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.rules import (
    attention_not_fused,
    conv_activation_not_fused,
    conv_batchnorm_not_fused,
    copies_between_providers,
    gelu_not_fused,
    layernorm_not_fused,
    matmul_add_not_fused,
    nodes_without_provider,
    provider_does_not_load,
    skip_layernorm_not_fused,
)

__all__ = ["RULES", "find_all"]

_MODULES: tuple[ModuleType, ...] = (
    provider_does_not_load,
    nodes_without_provider,
    copies_between_providers,
    conv_batchnorm_not_fused,
    conv_activation_not_fused,
    matmul_add_not_fused,
    layernorm_not_fused,
    skip_layernorm_not_fused,
    gelu_not_fused,
    attention_not_fused,
)

RULES: dict[str, Rule] = {m.RULE.code: m.RULE for m in _MODULES}
"""Code to rule, in the order of the codes."""


def find_all(case: Case) -> Iterator[Finding]:
    """What every rule finds, in the order of the codes. A rule that needs a run is skipped without one."""
    for module in _MODULES:
        if module.RULE.needs == "graph" or case.ran is not None:
            yield from module.find(case)

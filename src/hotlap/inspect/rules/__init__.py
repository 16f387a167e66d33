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
    batch_fixed_at_one,
    both_unsigned_8_bit,
    declared_shape_is_wrong,
    denormal_weights,
    dynamic_in_name_only,
    dynamically_quantised_convolution,
    float64_arithmetic,
    half_loses_a_constant,
    half_on_cpu_proves_nothing,
    half_overflows,
    half_range_near_the_edge,
    nan_weights,
    padding_changes_answers,
    rows_depend_on_neighbours,
    runs_differ,
    saturates_without_vnni,
    unfused_quantisation,
)

__all__ = ["RULES", "find_all"]

_MODULES: tuple[ModuleType, ...] = (
    dynamic_in_name_only,
    rows_depend_on_neighbours,
    batch_fixed_at_one,
    declared_shape_is_wrong,
    runs_differ,
    padding_changes_answers,
    float64_arithmetic,
    denormal_weights,
    half_range_near_the_edge,
    half_overflows,
    half_loses_a_constant,
    half_on_cpu_proves_nothing,
    nan_weights,
    saturates_without_vnni,
    both_unsigned_8_bit,
    unfused_quantisation,
    dynamically_quantised_convolution,
)

RULES: dict[str, Rule] = {m.RULE.code: m.RULE for m in _MODULES}
"""Code to rule, in the order of the codes."""


def find_all(case: Case) -> Iterator[Finding]:
    """What every rule finds, in the order of the codes. A rule that needs a run is skipped without one."""
    for module in _MODULES:
        if module.RULE.needs == "graph" or case.ran is not None:
            yield from module.find(case)

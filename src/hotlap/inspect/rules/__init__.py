"""The rules: one file each, with ``RULE`` (what it is) and ``find`` (Case to findings).

Pages: ``docs/reference/findings/HLnnn.md``. A test each: ``tests/inspect/rules/test_<file>.py``, with a model
that has it and one that does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

__all__ = ["RULES", "find_all"]

_MODULES: tuple[ModuleType, ...] = ()

RULES: dict[str, Rule] = {m.RULE.code: m.RULE for m in _MODULES}
"""Code to rule, in the order of the codes."""


def find_all(case: Case) -> Iterator[Finding]:
    """What every rule finds, in the order of the codes. A rule that needs a run is skipped without one."""
    for module in _MODULES:
        if module.RULE.needs == "graph" or case.ran is not None:
            yield from module.find(case)

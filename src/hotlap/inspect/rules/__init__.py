"""The rules: one file each, with ``RULE`` (what it is) and ``find`` (Case to findings).

Pages: ``docs/reference/findings/HLnnn.md``. A test each: ``tests/inspect/rules/test_<file>.py``, with a model
that has it and one that does not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from types import ModuleType

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

__all__ = ["RULES", "find_all"]

log = logging.getLogger("hotlap.inspect")

_MODULES: tuple[ModuleType, ...] = ()

RULES: dict[str, Rule] = {m.RULE.code: m.RULE for m in _MODULES}
"""Code to rule, in the order of the codes."""


def find_all(case: Case, unjudged: Callable[[str], object] = lambda line: None) -> Iterator[Finding]:
    """What every rule finds, in the order of the codes. A rule that needs a run is skipped without one.

    Args:
        case: the model.
        unjudged: told, in one line, of each rule that failed on this model: a file may be broken in ways that
            a rule's author did not think of, and the other rules are judged all the same.
    """
    for module in _MODULES:
        if module.RULE.needs == "graph" or case.ran is not None:
            try:
                yield from list(module.find(case))
            except Exception as error:
                log.debug("rule %s failed", module.RULE.code, exc_info=True)
                unjudged(
                    f"{module.RULE.code}: the rule failed on this model: {type(error).__name__}: {error}"
                )

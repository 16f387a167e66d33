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
from hotlap.inspect.rules import (
    batch_fixed_at_one,
    both_unsigned_8_bit,
    bound_to_a_host,
    dead_branch,
    declared_shape_is_wrong,
    denormal_weights,
    duplicate_constants,
    dynamic_in_name_only,
    dynamically_quantised_convolution,
    external_changed,
    external_missing,
    external_moved,
    external_outside,
    float64_arithmetic,
    giant_constant,
    half_loses_a_constant,
    half_on_cpu_proves_nothing,
    half_overflows,
    half_range_near_the_edge,
    input_passed_through,
    ir_too_new,
    name_made_twice,
    names_differ_by_case,
    nan_weights,
    opset_too_new,
    padding_changes_answers,
    refused,
    rows_depend_on_neighbours,
    runs_differ,
    saturates_without_vnni,
    sequence_or_map_output,
    text,
    unfused_quantisation,
    unknown_operator,
    unused_input,
    unused_output,
    value_without_maker,
    weights_as_inputs,
    zipmap,
)

__all__ = ["RULES", "find_all"]

log = logging.getLogger("hotlap.inspect")

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
    opset_too_new,
    ir_too_new,
    unknown_operator,
    bound_to_a_host,
    external_missing,
    external_changed,
    external_outside,
    external_moved,
    refused,
    zipmap,
    sequence_or_map_output,
    text,
    weights_as_inputs,
    input_passed_through,
    names_differ_by_case,
    unused_output,
    dead_branch,
    giant_constant,
    duplicate_constants,
    value_without_maker,
    name_made_twice,
    unused_input,
)
"""In the order of the codes."""

RULES: dict[str, Rule] = {m.RULE.code: m.RULE for m in _MODULES}
"""Code to rule, in the order of the codes."""


MOST_OF_A_KIND = 50
"""Findings of one rule that are told; the others are counted. A broken file can have one for each node."""


def find_all(case: Case, note: Callable[[str], object] = lambda line: None) -> Iterator[Finding]:
    """What every rule finds, in the order of the codes. A rule that needs a run is skipped without one.

    Args:
        case: the model.
        note: told, in one line, of each rule that failed on this model (a file may be broken in ways that a
            rule's author did not think of, and the other rules are judged all the same), and of findings
            that are left out for their number.
    """
    for module in _MODULES:
        rule = module.RULE
        if rule.needs == "run" and case.ran is None:
            continue
        try:
            found = list(module.find(case))
        except Exception as error:
            log.debug("rule %s failed", rule.code, exc_info=True)
            note(f"{rule.code}: the rule failed on this model: {type(error).__name__}: {error}")
            continue
        if len(found) > MOST_OF_A_KIND:
            note(f"{rule.code}: {len(found) - MOST_OF_A_KIND} more findings of this kind are left out")
        yield from found[:MOST_OF_A_KIND]

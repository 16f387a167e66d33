"""HL309: ONNX Runtime does not load the model, or the process that ran it ended."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.rules.nodes_without_provider import NOT_TAKEN
from hotlap.inspect.rules.unknown_operator import NO_KERNEL, SAID

RULE = Rule(
    code="HL309",
    name="refused",
    title="ONNX Runtime does not load or run it",
    severity="error",
    needs="run",
)
_TOLD = (SAID, NO_KERNEL, NOT_TAKEN)
"""Refusals that the rules on operators and on nodes without a provider tell."""
_ENDED = ("the process crashed", "the process ended")
"""How `hotlap.bench.process` tells that a process ended without an answer."""


def find(case: Case) -> Iterator[Finding]:
    assert case.ran is not None
    if any(said.search(case.ran.refusal) for said in _TOLD):
        return
    if case.ran.refusal:
        yield RULE.found(
            f"it does not load: {case.ran.refusal.removeprefix('ONNX Runtime does not load it: ')}"
        )
    elif case.ran.failure.startswith(_ENDED):
        yield RULE.found(f"running it ends the process: {case.ran.failure}")
    elif case.ran.failure and case.ran.data == "yours":
        yield RULE.found(f"it does not run on your inputs: {case.ran.failure}")

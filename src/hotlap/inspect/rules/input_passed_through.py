"""HL405: an input that is an output as well."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.walk import Scope, Walk

RULE = Rule(code="HL405", name="input-passed-through", title="An input is an output as well", severity="info")


def find(case: Case) -> Iterator[Finding]:
    root = case.walk.root
    labels = {spec.name: spec.label for spec in case.anatomy.inputs}
    for output in root.outputs:
        source = _source(case.walk, root, output)
        if source in labels:
            yield RULE.found(
                f'output "{output}" is the input "{source}" ({labels[source]}) unchanged',
                tensor=output,
                cost="one copy of it on every call",
                fix="leave the output out; the caller has it already",
            )


def _source(walk: Walk, root: Scope, value: str) -> str:
    """Where a value comes from, through nodes that change nothing."""
    met: set[str] = set()
    while value not in met:
        met.add(value)
        maker = walk.maker(root, value)
        if maker is not None and maker.op == "Identity" and maker.inputs:
            value = maker.inputs[0]
    return value

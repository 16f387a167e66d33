"""HL402: an output that is no tensor."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(code="HL402", name="sequence-or-map-output", title="An output is no tensor", severity="warning")


def find(case: Case) -> Iterator[Finding]:
    zipped = {output for node in case.walk.nodes("ai.onnx.ml.ZipMap") for output in node.outputs}
    for spec in case.anatomy.outputs:
        if not spec.type.startswith("tensor(") and spec.type != "unknown" and spec.name not in zipped:
            yield RULE.found(
                f'output "{spec.name}" is {spec.type}: it cannot be bound, batched or sent as a tensor',
                tensor=spec.name,
                fix="export the model with tensors as its outputs",
            )

"""HL404: weights that are inputs as well."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(
    code="HL404", name="weights-as-inputs", title="A caller can overwrite weights", severity="warning"
)
_FIRST_OVERRIDABLE = 4
"""IR version from which on a weight need not be an input, and is then one only if it may be replaced (ONNX,
IR.md; ONNX Runtime takes weights of older files for constants)."""


def find(case: Case) -> Iterator[Finding]:
    root = case.walk.root
    names = [name for name in root.weights if name in root.inputs]
    if not names or case.anatomy.ir_version < _FIRST_OVERRIDABLE:
        return
    first = names[0]
    count = (
        f"{len(names)} weights are inputs as well"
        if len(names) > 1
        else f'the weight "{first}" is an input as well'
    )
    reader = next(iter(case.walk.readers(root, first)), None)
    yield RULE.found(
        f"{count}: a caller can replace them, so ONNX Runtime folds and fuses nothing that hangs on them",
        node=reader.label if reader else "",
        tensor=first,
        cost=f"{len(names)} of {len(root.weights)} weights",
        fix=RULE.mend,
    )

"""HL103: every input holds exactly one row, so a batch must be run row by row."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.shapes import shapes

RULE = Rule(
    code="HL103",
    name="batch-fixed-at-one",
    title="The model takes one row a call",
    severity="warning",
)


def find(case: Case) -> Iterator[Finding]:
    root, known = case.walk.root, shapes(case.walk)
    inputs = [v.name for v in root.proto.input if v.name not in root.weights]
    # Scalars and lone numbers (a sampling rate, a threshold) are settings, no rows.
    rows = {n: dims for n in inputs if (dims := known.dims(n)) and len(dims) > 1}
    if not rows or any(dims[0] != 1 for dims in rows.values()) or not _one_row_out(case):
        return
    first = next(iter(rows))
    more = f" (and of {len(rows) - 1} more)" if len(rows) > 1 else ""
    yield RULE.found(
        f"axis 0 of input {first}{more} is fixed at 1: every row needs a call of its own",
        tensor=first,
        fix=RULE.mend,
    )


def _one_row_out(case: Case) -> bool:
    """Whether some output starts with that one row, too; otherwise the 1 is no row."""
    root = case.walk.root
    for value in root.proto.output:
        if not value.type.HasField("tensor_type"):
            continue
        dims = value.type.tensor_type.shape.dim
        if len(dims) > 1 and dims[0].HasField("dim_value") and dims[0].dim_value == 1:
            return True
    return False

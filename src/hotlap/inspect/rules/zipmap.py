"""HL401: ZipMap, which turns scores into a list of dictionaries."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(
    code="HL401", name="zipmap", title="ZipMap turns scores into a list of dictionaries", severity="warning"
)


def find(case: Case) -> Iterator[Finding]:
    for node in case.walk.nodes("ai.onnx.ml.ZipMap"):
        classes = node.attribute("classlabels_int64s") or node.attribute("classlabels_strings") or []
        output = node.outputs[0] if node.outputs else ""
        yield RULE.found(
            f'"{output}" is a list of one dictionary a row, which no tensor protocol carries',
            node=node.label,
            tensor=output,
            cost=f"a Python dictionary of {len(classes)} entries for each row" if classes else "",
            fix=RULE.mend,
        )

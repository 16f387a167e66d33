"""HL104: an output's real shape contradicts the declared one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(
    code="HL104",
    name="declared-shape-is-wrong",
    title="An output's shape is not the declared one",
    severity="error",
    needs="run",
)


def find(case: Case) -> Iterator[Finding]:
    facts = case.ran.facts if case.ran else None
    for output, real in (facts.shapes if facts else {}).items():
        maker = case.walk.root.makers.get(output)
        yield RULE.found(
            f"output {output} is declared {_declared(case, output)}, and is [{_listed(real)}]",
            node=maker.label if maker else "",
            tensor=output,
            cost="whoever prepares buffers by the declaration fails",
            fix="declare the real shape, or leave the axes dynamic",
        )


def _declared(case: Case, output: str) -> str:
    kind = case.walk.root.types.get(output)
    if kind is None or not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return "without a shape"
    dims = kind.tensor_type.shape.dim
    return f"[{_listed(d.dim_value if d.HasField('dim_value') else d.dim_param or '?' for d in dims)}]"


def _listed(sizes: Iterable[int | str]) -> str:
    return ", ".join(map(str, sizes))

"""HL104: an output's real shape contradicts the declared one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.dims import Dims
from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.shapes import shapes

RULE = Rule(
    code="HL104",
    name="declared-shape-is-wrong",
    title="An output's shape is not the declared one",
    severity="error",
)


def find(case: Case) -> Iterator[Finding]:
    facts = case.ran.facts if case.ran else None
    seen: dict[str, Dims] = dict(facts.shapes) if facts else {}
    # ORT tells the shapes that it works out itself, not the file's: such a lie does not show in a run.
    for output in case.walk.root.outputs:
        proven = shapes(case.walk).dims(output)
        if output not in seen and proven is not None and _contradicts(_declared(case, output), proven):
            seen[output] = proven
    for output, real in seen.items():
        maker = case.walk.root.makers.get(output)
        declared = _declared(case, output)
        said = "without a shape" if declared is None else f"[{_listed(declared)}]"
        yield RULE.found(
            f"output {output} is declared {said}, and is [{_listed(real)}]",
            node=maker.label if maker else "",
            tensor=output,
            cost="whoever prepares buffers by the declaration fails",
            fix="declare the real shape, or leave the axes dynamic",
        )


def _declared(case: Case, output: str) -> Dims | None:
    kind = case.walk.root.types.get(output)
    if kind is None or not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    dims = kind.tensor_type.shape.dim
    return tuple(int(d.dim_value) if d.HasField("dim_value") else d.dim_param or None for d in dims)


def _contradicts(declared: Dims | None, real: Dims) -> bool:
    """Whether ranks or two numbers differ. A symbol that always is one number is HL101's."""
    if declared is None or declared == real:
        return False
    pairs = zip(declared, real, strict=False)
    return len(declared) != len(real) or any(
        isinstance(d, int) and isinstance(r, int) and d >= 0 and d != r for d, r in pairs
    )


def _listed(sizes: Iterable[int | str | None]) -> str:
    return ", ".join("?" if size is None else str(size) for size in sizes)

"""MatMul and Add: ORT makes one Gemm of them where the rows are a matrix, or all sizes are fixed."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.dims import Dims
from hotlap.inspect.fusions.blockers import Blocked, Blocker, along, wrong_dtype
from hotlap.inspect.fusions.graph import Step
from hotlap.inspect.fusions.pattern import Link, before
from hotlap.inspect.fusions.running import Running
from hotlap.model.elements import dtype_name

__all__ = ["matmul_add"]

_SHAPE_OPS = ("Reshape", "Squeeze", "Unsqueeze")


def matmul_add(run: Running) -> Iterator[Blocked]:
    """Sums that still follow a product, both of shapes that Gemm takes."""
    for add in run.executed.nodes("Add"):
        if add.inputs[0] == add.inputs[1]:
            continue
        for side in (0, 1):
            link = before(run.executed, add, side, ("MatMul",), _SHAPE_OPS)
            blocked = _blocked(run, link, add, add.inputs[1 - side]) if link else None
            if blocked is not None:
                yield blocked
                break


def _blocked(run: Running, link: Link, add: Step, bias: str) -> Blocked | None:
    matmul = link.made
    product, sum_ = run.node(matmul), run.node(add)
    rows, weight = (run.shape(matmul.scope, v) for v in matmul.inputs)
    addend = run.shape(add.scope, bias)
    if product is None or sum_ is None or not (rows and weight and addend):
        return None
    if not _fits(rows, weight, addend) or not _same_columns(run, link, weight):
        return None
    if len(rows) != 2 and run.executed.maker(matmul.scope, matmul.inputs[0]) is not None:
        return None  # ORT spares some of these for attentions
    dtype = next((d for s, v in ((matmul, matmul.inputs[1]), (add, bias)) if (d := _dtype(run, s, v))), "")
    found = [*wrong_dtype((matmul, add), dtype, ("float32", "float16")), *along(run.executed, [link])]
    if weight[1] != addend[-1]:
        why = f'the width of "{matmul.inputs[1]}" is not fixed, it is no weight of the file'
        found.append(Blocker("non-constant weight", why, matmul.inputs[1]))
    return Blocked(product, f"{product.label} and {sum_.label}", tuple(found), 2 + len(link.crossed))


def _fits(rows: Dims, weight: Dims, addend: Dims) -> bool:
    """Whether Gemm takes them: a matrix, or fixed sizes, and one addend for each column."""
    if len(weight) != 2 or len(rows) < 2:
        return False
    if len(rows) != 2 and not all(isinstance(size, int) for size in rows):
        return False
    per_column = len(addend) == 1 or (len(rows) == len(addend) == 2 and addend[0] in (1, rows[0]))
    # A weight whose width is not fixed is a blocker, not another pattern.
    return (
        per_column
        and isinstance(addend[-1], int)
        and (weight[1] == addend[-1] or not isinstance(weight[1], int))
    )


def _same_columns(run: Running, link: Link, weight: Dims) -> bool:
    """Whether adding before the shape operators would add the same."""
    shapes = [run.shape(step.scope, step.output) for step in link.crossed]
    return all(s is not None and len(s) > 1 and s[-1] == weight[1] for s in shapes)


def _dtype(run: Running, step: Step, value: str) -> str:
    tensor = run.executed.walk.constant(step.scope, value)
    if tensor is not None:
        return dtype_name(tensor.data_type)
    home = run.scope(step.scope)
    kind = home.types.get(value) if home else None
    return "" if kind is None else dtype_name(kind.tensor_type.elem_type)

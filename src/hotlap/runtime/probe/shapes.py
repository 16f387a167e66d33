"""Real shapes against declared ones, over everything that was run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hotlap.plan import StuckAxis
from hotlap.runtime.probe.axes import place_name, stated
from hotlap.runtime.probe.tries import Shapes, Tries
from hotlap.tensors import TensorSpec

__all__ = ["real_shapes"]

Shape = tuple[int, ...]
Sizes = dict[str, int]


def real_shapes(
    tries: Tries, stuck: Iterable[StuckAxis], declared: Sequence[TensorSpec] | None = None
) -> dict[str, tuple[int | str, ...]]:
    """Output to its real shape, of those whose declaration is contradicted.

    An axis that holds what was declared keeps its symbol. Of the others, one that never changed is a number,
    one that was always as long as an axis of the inputs has that one's name, and any other is ``"?"``.

    Args:
        stuck: tries with sizes that are known to fail say nothing about shapes.
        declared: the outputs' specs where they are not those of the runner.
    """
    failing = {(s.input, s.axis, size) for s in stuck for size in s.fails}
    names = [s.name for s in tries.inputs]
    seen = [
        (_sizes(tries.inputs, ins), outs)
        for ins, outs in tries.seen
        if not any(
            (n, a, size) in failing
            for n, shape in zip(names, ins, strict=True)
            for a, size in enumerate(shape or ())
        )
    ]
    found = {}
    for number, spec in enumerate(declared or tries.outputs):
        shapes = [(sizes, outs[number]) for sizes, outs in seen]
        known = [(sizes, shape) for sizes, shape in shapes if shape is not None]
        if spec.ranked and known and len(known) == len(shapes):
            real = _real(spec, known)
            if real is not None:
                found[spec.name] = real
    return found


def _sizes(specs: Sequence[TensorSpec], shapes: Shapes) -> Sizes:
    return {
        place_name(spec, axis): size
        for spec, shape in zip(specs, shapes, strict=True)
        for axis, size in enumerate(shape or ())
        if not isinstance(stated(spec, axis), int)
    }


def _real(spec: TensorSpec, known: Sequence[tuple[Sizes, Shape]]) -> tuple[int | str, ...] | None:
    rank = len(known[0][1])
    of_rank = [(sizes, shape) for sizes, shape in known if len(shape) == rank]
    if len(spec.shape) != rank:
        return tuple(_axis(axis, of_rank) for axis in range(rank))
    holds = [all(_fits(dim, shape[a], sizes) for sizes, shape in of_rank) for a, dim in enumerate(spec.shape)]
    if all(holds):
        return None
    return tuple(
        dim if fine and dim is not None else _axis(a, of_rank)
        for a, (dim, fine) in enumerate(zip(spec.shape, holds, strict=True))
    )


def _fits(dim: int | str | None, size: int, sizes: Sizes) -> bool:
    return size == dim if isinstance(dim, int) else dim is None or sizes.get(dim, size) == size


def _axis(axis: int, known: Sequence[tuple[Sizes, Shape]]) -> int | str:
    seen = {shape[axis] for _, shape in known}
    if len(seen) == 1:
        return seen.pop()
    names = known[0][0]
    return next((n for n in names if all(sizes.get(n) == shape[axis] for sizes, shape in known)), "?")

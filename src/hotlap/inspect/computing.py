"""Which operators compute, and which only move numbers about."""

from __future__ import annotations

from hotlap.model.walk import Node, Walk

__all__ = ["MOVES", "after_moves"]

MOVES = frozenset({
    "Cast", "CastLike", "Compress", "Concat", "ConcatFromSequence", "Constant", "ConstantOfShape",
    "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "If",
    "Loop", "MemcpyFromHost", "MemcpyToHost", "Optional", "OptionalGetElement", "Pad", "Reshape",
    "Scan", "ScatterElements", "ScatterND", "SequenceAt", "SequenceConstruct", "Shape", "Size",
    "Slice", "SpaceToDepth", "Split", "SplitToSequence", "Squeeze", "Tile", "Transpose", "Unsqueeze",
    "Where",
})  # fmt: skip
"""Operators that compute nothing with the numbers that pass through them, or hold other graphs."""


def after_moves(walk: Walk, node: Node) -> list[Node]:
    """The nodes that compute with what a node makes, looked at through those that only move it."""
    found: list[Node] = []
    left, seen = [node], {node}
    while left and len(seen) < 64:
        here = left.pop()
        for output in here.outputs:
            for reader in walk.readers(here.scope, output) if output else ():
                if reader not in seen:
                    seen.add(reader)
                    (left if reader.op in MOVES else found).append(reader)
    return found

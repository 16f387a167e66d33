"""The first value of one model that is NaN or +infinity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hotlap.errors import HotlapError
from hotlap.model.tap import Value
from hotlap.model.walk import Node
from hotlap.verify.divergence import Divergence, Seen, Walked
from hotlap.verify.index import index_text
from hotlap.verify.inside import Chunks, Inside, sparse, stored
from hotlap.verify.matching import in_order
from hotlap.verify.weights import not_finite

__all__ = ["Finite"]


class Finite:
    """One model: the first value that is no number."""

    def __init__(self, side: Inside, feeds: list[Any]) -> None:
        self.side, self.feeds = side, feeds
        self.nodes = {(n.scope.path, v): n for n in in_order(side.walk) for v in n.outputs if v}
        self.chunks = Chunks(list(self.nodes))
        self.compared = 0
        self.skipped: list[str] = []

    def walked(self) -> Walked:
        found = None
        for chunk in self.chunks if self.feeds else ():
            if (found := self._first(chunk)) is not None:
                break
        return Walked(
            found=found,
            compared=self.compared,
            values=len(self.nodes),
            by="",
            skipped=tuple(self.skipped[:8]),
        )

    def _first(self, chunk: Sequence[Value]) -> Divergence | None:
        try:
            answers = self.side.answers(*self.side.tapped(chunk), self.feeds)
        except HotlapError:
            if len(chunk) == 1:
                self.skipped.append(chunk[0][1])
                return None
            half = len(chunk) // 2
            return self._first(chunk[:half]) or self._first(chunk[half:])
        self.chunks.took(answers)
        self.compared += len(answers[0])
        for at in chunk:
            for number, values in enumerate(answers):
                array = values.get(at)
                if isinstance(array, np.ndarray) and array.dtype.kind == "f" and not _finite(array):
                    return self._divergence(at, number, array)
        return None

    def _divergence(self, at: Value, number: int, array: Any) -> Divergence:
        place = np.unravel_index(int(np.argmax(_odd(array))), array.shape)
        node = self.nodes[at]
        seen = tuple(self._seen(node, v, number) for v in node.inputs if v)
        return Divergence(
            kind="not finite",
            node=node.label,
            value=at[1],
            place=index_text(place),
            before="",
            after=str(array[place]),
            inputs=seen,
            input=number,
        )

    def _seen(self, node: Node, name: str, number: int) -> Seen:
        """What a node reads: a weight's own numbers, what was given, or what a node before it made."""
        weight = stored(self.side.walk, node.scope, name)
        if weight is not None:
            told = not_finite(weight, self.side.home)
            return Seen(name=name, agrees=not told, said=f"a weight: {told or 'finite'}")
        if (thin := sparse(node.scope, name)) is not None:
            told = not_finite(thin.values, self.side.home)
            return Seen(name=name, agrees=not told, said=f"a sparse weight: {told or 'finite'}")
        home = self.side.walk.home(node.scope, name)
        given = self.feeds[number].get(name) if home is self.side.walk.root else None
        if isinstance(given, np.ndarray) and given.dtype.kind == "f" and not _finite(given):
            return Seen(name=name, agrees=False, said="given from outside, and not finite there")
        if name in self.skipped:
            return Seen(name=name, agrees=None, said="not looked at")
        return Seen(name=name, agrees=True, said="finite")


def _finite(array: Any) -> bool:
    return not _odd(array).any()


def _odd(array: Any) -> Any:
    """-inf is how masks are written, and a mask is meant; NaN and +inf never are."""
    return np.isnan(array) | np.isposinf(array)

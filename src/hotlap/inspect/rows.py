"""Which axis of a value holds the rows of a batch: `Rows`."""

from __future__ import annotations

from collections import Counter

from hotlap.inspect.case import Case
from hotlap.inspect.shapes import shapes

__all__ = ["Rows"]


class Rows:
    """Where the rows stand: from what a run learned, else the first axis of each input, if it is dynamic.

    Attributes:
        axes: input to the axis of its rows.
        fixed: input to the size that is declared there, where it is a number.
    """

    def __init__(self, case: Case) -> None:
        self._shapes = shapes(case.walk)
        facts = case.ran.facts if case.ran else None
        weights = case.walk.root.weights
        inputs = [v.name for v in case.walk.root.proto.input if v.name not in weights]
        known = {n: self._shapes.dims(n) for n in inputs}
        learned = {} if facts is None else {n: a for n, a in facts.axes.items() if n in known}
        self.axes = learned or {n: 0 for n, dims in known.items() if dims}
        sizes = {n: dims[a] for n, a in self.axes.items() if (dims := known[n]) and a < len(dims)}
        self.fixed = {n: s for n, s in sizes.items() if isinstance(s, int)}
        seen = Counter(d for dims in known.values() for d in set(dims or ()))
        twice = {d for dims in known.values() for d, n in Counter(dims or ()).items() if n > 1}
        # An exporter that gives all axes one name says nothing by it.
        self._symbols = {s for s in sizes.values() if isinstance(s, str) and s in seen and s not in twice}

    @property
    def one_at_most(self) -> bool:
        """Whether a call takes one row alone, so that no row has neighbours."""
        return bool(self.axes) and all(self.fixed.get(name) == 1 for name in self.axes)

    def axis(self, value: str) -> int | None:
        """The axis that holds the rows of a value of the model's own graph; None where that is not proven."""
        dims = self._shapes.dims(value) or ()
        found = [axis for axis, size in enumerate(dims) if size in self._symbols]
        return found[0] if len(found) == 1 else None

    def rank(self, value: str) -> int | None:
        dims = self._shapes.dims(value)
        return None if dims is None else len(dims)

"""A model from the inside: copies of it that also give out values from within, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.bench import Target
from hotlap.bench.child import open_target
from hotlap.errors import InputError
from hotlap.model import Model
from hotlap.model.apart import weights_apart
from hotlap.model.graph import load_graph
from hotlap.model.nudge import nudge_weights
from hotlap.model.tap import Value, inlined, tapped
from hotlap.model.walk import Scope, Walk
from hotlap.plan.files import write_whole
from hotlap.verify.answers import normal
from hotlap.verify.noise import moved, unoptimised

__all__ = ["Chunks", "Inside", "sparse", "stored"]

FIRST, MOST = 16, 128
"""Values that are looked at together: at first, and at the most."""
BYTES = 512 << 20
"""About what they may take, for one model and all inputs; both models and a noise run are kept at a time."""


@dataclass(eq=False)
class Inside:
    """One model: its graph with functions unfolded, and a folder in which copies of it can lie.

    Its weights lie in a file there: a copy is written and read for every few values.
    """

    target: Target
    home: Path
    graph: Any = None
    walk: Walk = field(init=False)

    def __post_init__(self) -> None:
        path = Path(self.target.model)
        model = Model.load(path)
        model.save(self.home)  # beside its copies: they share the files of weights
        self._whole = model.files() == [path]
        self.graph = inlined(model.proto)
        if self._whole:
            weights_apart(self.graph, self.home / "weights.bin")
        self.walk = Walk(self.graph)

    def refusals(self, feeds: list[Any]) -> dict[int, str]:
        """Which of the feeds the model itself does not take, by their numbers, and why."""
        runner = open_target(unoptimised(self.target))
        found = {}
        try:
            for number, feed in enumerate(feeds):
                try:
                    runner.run(feed)
                except InputError as error:
                    found[number] = f"{self.target.label}: {' '.join(str(error).split())}"
            return found
        finally:
            getattr(runner, "close", lambda: None)()

    def tapped(self, values: Sequence[Value]) -> tuple[Path, dict[Value, str]]:
        return self._written(self.graph, values, "tapped.onnx")

    def nudged(self, values: Sequence[Value]) -> tuple[Path, dict[Value, str]] | None:
        """As `tapped`, every float weight off by one unit in the last place.

        None where there is nothing to nudge, or the model came with files of weights (`nudged_copy`).
        """
        return None if self._nudged is None else self._written(self._nudged, values, "nudged.onnx")

    @cached_property
    def _nudged(self) -> Any:
        graph = inlined(load_graph(Path(self.target.model))) if self._whole else None
        if graph is None or not nudge_weights(graph, 0):
            return None
        weights_apart(graph, self.home / "nudged.bin")
        return graph

    def _written(self, graph: Any, values: Sequence[Value], name: str) -> tuple[Path, dict[Value, str]]:
        copy, names = tapped(graph, values)
        file = self.home / name
        write_whole(file, copy.SerializeToString())
        return file, names

    def answers(self, file: Path, names: dict[Value, str], feeds: list[Any]) -> list[dict[Value, Any]]:
        """Each value on each feed, as `answers.normal` makes it.

        Raises:
            HotlapError: the copy does not load, or does not run.
        """
        runner = open_target(unoptimised(moved(self.target, file)))
        try:
            found = []
            for feed in feeds:
                outputs = runner.run(feed)
                found.append({at: normal(outputs[name]) for at, name in names.items()})
            return found
        finally:
            getattr(runner, "close", lambda: None)()


class Chunks:
    """Items some at a time: as many as what the last ones took lets expect to fit."""

    def __init__(self, items: Sequence[Any]) -> None:
        self._items, self._size, self._took = items, FIRST, 0

    def took(self, answers: list[dict[Value, Any]]) -> None:
        """What the answers about the items at hand take."""
        self._took += sum(v.nbytes for a in answers for v in a.values() if isinstance(v, np.ndarray))

    def __iter__(self) -> Iterator[Sequence[Any]]:
        start = 0
        while start < len(self._items):
            yield self._items[start : start + self._size]
            start += self._size
            each = max(self._took // self._size, 1)
            self._size, self._took = min(max(BYTES // each, 2), MOST), 0


def stored(walk: Walk, scope: Scope, name: str) -> Any:
    """The tensor of a weight or a ``Constant``; of a weight that is also an input too, for `Runner` lets
    nobody replace it."""
    home = walk.home(scope, name)
    return home.weights[name] if home is not None and name in home.weights else walk.constant(scope, name)


def sparse(scope: Scope, name: str) -> Any:
    """The ``SparseTensorProto`` of a sparse weight, which `Walk` leaves out; None where it is none."""
    here: Scope | None = scope
    while here is not None and not here.knows(name):
        for weight in getattr(here.proto, "sparse_initializer", ()):  # a function has none
            if weight.values.name == name:
                return weight
        here = here.outer
    return None

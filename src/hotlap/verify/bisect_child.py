"""The bisecting process: ``python -m hotlap.verify.bisect_child REQUEST``.

It gives copies of the models more outputs, some dozen values at a time in the order of the reference's nodes,
runs them, and stops at the first value that differs by more than the noise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hotlap.bench import Target, load_feeds
from hotlap.bench.child import end_with_parent, open_target
from hotlap.bench.exchange import answer_and_end
from hotlap.errors import HotlapError, InputError, UsageError
from hotlap.model import Model
from hotlap.model.graph import load_graph
from hotlap.model.nudge import nudged_copy
from hotlap.model.tap import Value, inlined, tapped
from hotlap.model.walk import Node, Scope, Walk
from hotlap.plan.files import write_whole
from hotlap.verify import judging
from hotlap.verify.calibration import most
from hotlap.verify.divergence import Divergence, Seen, Walked
from hotlap.verify.index import index_text
from hotlap.verify.matching import Pair, in_order, paired
from hotlap.verify.noise import has_floats, moved, nudge, unoptimised
from hotlap.verify.span import Span, spans
from hotlap.verify.tallies import Tallies
from hotlap.verify.tally import Tally
from hotlap.verify.weights import difference, not_finite

__all__ = ["BisectRequest"]

FIRST, MOST = 16, 128
"""Values that are looked at together: at first, and at the most."""
BYTES = 512 << 20
"""About what they may take, for one model and all inputs; both models and a noise run are kept at a time."""
DRAWS = 2
"""Of the noise: so often the inputs are nudged. The weights are nudged once: that takes longer."""
_FLOAT32 = float(np.finfo(np.float32).eps)

Answers = dict[str, Any]


class BisectRequest(msgspec.Struct, kw_only=True):
    """What to compare (JSON).

    Attributes:
        reference: a model or a plan.
        candidate: the other; None: look for the first value of the reference that is no number.
        feeds: a folder of inputs.
        home: an empty folder for copies of the models.
        found: the file to write the `Walked` to.
        outcome: the file to write the `Outcome` to.
    """

    reference: Target
    candidate: Target | None
    feeds: str
    home: str
    found: str
    outcome: str


@dataclass(eq=False)
class _Side:
    """One model: its graph with functions unfolded, and a folder in which copies of it can lie."""

    target: Target
    home: Path
    graph: Any = None
    walk: Walk = field(init=False)

    def __post_init__(self) -> None:
        path = Path(self.target.model)
        Model.load(path).save(self.home)  # beside its copies: they share the files of weights
        self.graph = inlined(load_graph(path))
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
        copy, names = tapped(self.graph, values)
        file = self.home / "tapped.onnx"
        write_whole(file, copy.SerializeToString())
        return file, names

    def answers(self, file: Path, names: dict[Value, str], feeds: list[Any]) -> list[dict[Value, Any]]:
        """Each value on each feed.

        Raises:
            HotlapError: the copy does not load, or does not run.
        """
        runner = open_target(unoptimised(moved(self.target, file)))
        try:
            found = []
            for feed in feeds:
                outputs = runner.run(feed)
                found.append({at: outputs[name] for at, name in names.items()})
            return found
        finally:
            getattr(runner, "close", lambda: None)()


def bisect(request: BisectRequest) -> Walked:
    """The first value that differs, or is no number.

    Raises:
        HotlapError: a model cannot be read, or does not run.
    """
    feeds = load_feeds(request.feeds)
    before = _Side(request.reference, Path(request.home) / "reference")
    after = None if request.candidate is None else _Side(request.candidate, Path(request.home) / "candidate")
    # Else every copy would fail on such a feed, one value after the other.
    refused = {} if after is None else after.refusals(feeds)
    refused |= before.refusals(feeds)
    kept = [number for number in range(len(feeds)) if number not in refused]
    left = [feeds[number] for number in kept]
    walked = (_Finite(before, left) if after is None else _Two(before, after, left)).walked()
    return msgspec.structs.replace(
        walked.numbered(kept),
        refused=tuple(sorted(refused)),
        why_refused=refused[min(refused)] if refused else "",
    )


class _Chunks:
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


class _Finite:
    """One model: the first value that is no number."""

    def __init__(self, side: _Side, feeds: list[Any]) -> None:
        self.side, self.feeds = side, feeds
        self.nodes = {(n.scope.path, v): n for n in in_order(side.walk) for v in n.outputs if v}
        self.chunks = _Chunks(list(self.nodes))
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
        weight = _stored(self.side.walk, node.scope, name)
        if weight is not None:
            told = not_finite(weight, self.side.home)
            return Seen(name=name, agrees=not told, said=f"a weight: {told or 'finite'}")
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


class _Two:
    """Two models: the first value that differs by more than the noise."""

    def __init__(self, before: _Side, after: _Side, feeds: list[Any]) -> None:
        self.before, self.after, self.feeds = before, after, feeds
        self.pairs, self.by = paired(before.walk, after.walk)
        self.chunks = _Chunks(self.pairs)
        self.tallies: dict[Value, Tally] = {}
        self.skipped: list[str] = []

    def walked(self) -> Walked:
        if not self.pairs:
            raise UsageError("the two models have no value in common, neither by name nor by place")
        found = None
        for chunk in self.chunks if self.feeds else ():
            if (found := self._first(chunk)) is not None:
                break
        values = sum(1 for n in in_order(self.before.walk) for v in n.outputs if v)
        return Walked(
            found=found,
            compared=len(self.tallies),
            values=values,
            by=self.by,
            skipped=tuple(self.skipped[:8]),
        )

    def _first(self, chunk: Sequence[Pair]) -> Divergence | None:
        try:
            taps = self.before.tapped([p.at for p in chunk])
            first = self.before.answers(*taps, self.feeds)
            second = self.after.answers(*self.after.tapped([p.other_at for p in chunk]), self.feeds)
        except HotlapError:
            if len(chunk) == 1:
                self.skipped.append(chunk[0].value)
                return None
            half = len(chunk) // 2
            return self._first(chunk[:half]) or self._first(chunk[half:])
        self.chunks.took(first)
        both = [p for p in chunk if _looked_at(p, first, second)]
        left = [{_key(p): answer[p.at] for p in both} for answer in first]
        right = [{_key(p): answer[p.other_at] for p in both} for answer in second]
        known = _spans(left, both)
        tallies = _compared(known, left, right)
        if any(_suspect(tallies, _key(p)) for p in both):
            tallies = _compared(known, left, right, self._noise(taps, known, left, both))
        for pair in both:
            if (tally := tallies.tallies.get(_key(pair))) is not None:
                self.tallies[pair.at] = tally
            if (kind := _kind(tallies, _key(pair))) is not None:
                return self._divergence(pair, kind, tallies)
        return None

    def _noise(
        self,
        taps: tuple[Path, dict[Value, str]],
        known: dict[str, Span],
        left: list[Answers],
        pairs: Sequence[Pair],
    ) -> dict[str, Any]:
        """The most that each value of the reference moves where its inputs' or its weights' last bits do."""
        file, names = taps
        seeds = range(DRAWS if has_floats(self.feeds) else 0)
        runs = [(file, [nudge(feed, seed, n) for n, feed in enumerate(self.feeds)]) for seed in seeds]
        copy = nudged_copy(file, file.with_name("nudged.onnx"), 0)
        runs += [] if copy is None else [(copy, self.feeds)]
        found = []
        for model, feeds in runs:
            answers = self.before.answers(model, names, feeds)
            moved_by = _compared(known, left, [{_key(p): a[p.at] for p in pairs} for a in answers])
            found.append(moved_by.as_noise())
        return {label: most(found, label) for label in known}

    def _divergence(self, pair: Pair, kind: Any, tallies: Tallies) -> Divergence:
        tally, key = tallies.tallies.get(_key(pair)), _key(pair)
        told = tallies.reshaped.get(key)
        worst = None if tally is None else tally.odd if kind == "not finite" else tally.worst
        texts = (worst.before, worst.after) if worst else _forms(told[1] if told else "")
        noise = tally.noise if tally else None
        return Divergence(
            kind=kind,
            node=pair.before.label,
            other="" if pair.after.label == pair.before.label else pair.after.label,
            value=pair.value,
            place=worst.place if worst else "",
            before=texts[0],
            after=texts[1],
            share=tally.share if tally else 0.0,
            rms=tally.rms if tally else 0.0,
            noise=noise.max_rel if noise else 0.0,
            noise_rms=noise.rms if noise else 0.0,
            inputs=tuple(self._seen(pair, place) for place, name in enumerate(pair.before.inputs) if name),
            input=worst.input if worst else 0,
        )

    def _seen(self, pair: Pair, place: int) -> Seen:
        """Whether what the node reads at one place is the same on both sides."""
        name = pair.before.inputs[place]
        home = self.before.walk.home(pair.before.scope, name)
        if home is not None and name in home.weights:
            return self._seen_weight(pair, place, name)
        if home is not None and name in home.makers:
            tally = self.tallies.get((home.path, name))
            if tally is None:
                return Seen(name=name, agrees=None, said=self._unseen((home.path, name)))
            return Seen(name=name, agrees=True, said=f"agrees: differs by {tally.share:.2g} of its range")
        return Seen(name=name, agrees=True, said="given from outside")

    def _unseen(self, at: Value) -> str:
        """Why a value of the reference was not compared."""
        if all(pair.at != at for pair in self.pairs):
            return "not in both models"
        return "not looked at" if at[1] in self.skipped else "not looked at: no array"

    def _seen_weight(self, pair: Pair, place: int, name: str) -> Seen:
        other = _weight(self.after.walk, pair.after, name, place)
        if other is None:
            return Seen(name=name, agrees=None, said="a weight that the candidate has not")
        one = _weight(self.before.walk, pair.before, name, place)
        said = difference(one, other, self.before.home, self.after.home)
        return Seen(name=name, agrees=not said, said=f"a weight: {said or 'the same'}")


def _weight(walk: Walk, node: Node, name: str, place: int) -> Any:
    """The tensor of that name, as the node sees it; else the one that the node reads at that place."""
    found = _stored(walk, node.scope, name)
    if found is None and place < len(node.inputs) and node.inputs[place]:
        found = _stored(walk, node.scope, node.inputs[place])
    return found


def _stored(walk: Walk, scope: Scope, name: str) -> Any:
    """The tensor of a weight or a ``Constant``; of a weight that is also an input too, for `Runner` lets
    nobody replace it."""
    home = walk.home(scope, name)
    return home.weights[name] if home is not None and name in home.weights else walk.constant(scope, name)


def _key(pair: Pair) -> str:
    return f"{pair.before.scope.path}{pair.value}"


def _looked_at(pair: Pair, first: list[Any], second: list[Any]) -> bool:
    """Whether both sides have an array; sequences and maps have no one form."""
    sides = ((first, pair.at), (second, pair.other_at))
    return all(isinstance(answer.get(at), np.ndarray) for side, at in sides for answer in side)


def _spans(left: list[Answers], pairs: Sequence[Pair]) -> dict[str, Span]:
    known = spans(left, {})
    for pair in pairs:
        span = known[_key(pair)]
        span.axis = span.boxes = None
        if pair.before.scope.path and span.epsilon:
            span.epsilon = _FLOAT32  # led out as float64, computed as whatever the branch has
    return known


def _compared(
    known: dict[str, Span], left: list[Answers], right: list[Answers], noise: dict[str, Any] | None = None
) -> Tallies:
    tallies = Tallies(known, noise or {})
    for number, (a, b) in enumerate(zip(left, right, strict=True)):
        tallies.add(number, a, b)
    return tallies


def _suspect(tallies: Tallies, key: str) -> bool:
    tally = tallies.tallies.get(key)
    return key in tallies.reshaped or tally is None or tally.odd is not None or judging.excess(tally) > 1


def _kind(tallies: Tallies, key: str) -> str | None:
    tally = tallies.tallies.get(key)
    known = tallies.noise.get(key)
    if key in tallies.reshaped and tallies.reshaped_share(key) > (known.reshaped if known else 0.0):
        return "form"
    if tally is None:
        return None
    if tally.odd is not None:
        return "not finite"
    return "differs" if judging.excess(tally) > 1 else None


def _forms(told: str) -> tuple[str, str]:
    before, _, after = told.partition(" became ")
    return before.rpartition(": ")[2], after


def main() -> None:
    request = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=BisectRequest)
    end_with_parent()

    def work() -> None:
        Path(request.found).write_bytes(msgspec.msgpack.encode(bisect(request)))

    answer_and_end(work, request.outcome)


if __name__ == "__main__":
    main()

"""The answering process: ``python -m hotlap.verify.child REQUEST``.

It opens a target, runs it on every input, and writes the answers as files, or how far they differ from
answers that are there; several sweeps one after the other. A candidate may crash the process, and only this.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from hotlap.bench import Target, save_feeds
from hotlap.bench.child import end_with_parent, open_target
from hotlap.bench.exchange import answer_and_end
from hotlap.bench.npz import read_npz
from hotlap.errors import HotlapError, InputError, MissingExtra, ModelError, UsageError
from hotlap.model import Model
from hotlap.verify.answers import answer_file, load_answer, named, normal, save_answer, save_refusal
from hotlap.verify.noise import nudge
from hotlap.verify.shapes import varied_feeds
from hotlap.verify.source import FeedSource
from hotlap.verify.span import unpacked_spans
from hotlap.verify.tallies import Tallies

__all__ = ["FAILED", "NOISE", "SECONDS", "Request", "Sweep", "spread"]

SECONDS, FAILED, NOISE = "seconds", "failed", "noise"
"""Files in a sweep's folder."""


class Sweep(msgspec.Struct, kw_only=True):
    """One sweep over inputs.

    Attributes:
        target: what answers.
        folder: for the answers, and for the seconds that it all took (`SECONDS`).
        numbers: which inputs; None: all.
        most: at most so many of them, evenly spread; 0: all.
        nudge: seed of the change by one unit in the last place; None: the inputs as they are.
        optional: where it fails, the reason is written to `FAILED` in its folder and the next sweep goes on.
        against: a folder of answers: nothing is kept but how far these differ from them, in `NOISE`.
        spans: of the outputs, by `packed_spans`; for `against`.
        refusals: an input that the target does not take is noted instead of its answer.
        names: of the outputs, for a callable that gives them without names.
    """

    target: Target
    folder: str
    numbers: list[int] | None = None
    most: int = 0
    nudge: int | None = None
    optional: bool = False
    against: str | None = None
    spans: bytes = b""
    refusals: bool = False
    names: tuple[str, ...] = ()


class Request(msgspec.Struct, kw_only=True):
    """What to do (JSON).

    Attributes:
        feeds: a folder of inputs.
        sweeps: in this order; those of one target share a session.
        make: first make inputs that fit this target's signature, of several shapes, and write them there.
        source: or first take the inputs from here.
        outcome: the file to write the `Outcome` to.
    """

    feeds: str
    sweeps: list[Sweep]
    make: Target | None = None
    source: FeedSource | None = None
    outcome: str


def answer(request: Request) -> None:
    """All sweeps, one after the other.

    Raises:
        HotlapError: whatever opening or running raises in a sweep that is not optional.
    """
    opened: dict[Target, Any] = {}
    if request.source is not None:
        _save_source(request.source, Path(request.feeds))
    if request.make is not None:
        opened[request.make] = open_target(request.make)
        _make_feeds(opened[request.make], request.make, Path(request.feeds))
    for one in request.sweeps:
        folder = Path(one.folder)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            if one.target not in opened:
                opened.clear()  # one session at a time: a model may fill the memory
                opened[one.target] = open_target(one.target)
            _run(opened[one.target], one, Path(request.feeds), folder)
        except HotlapError as error:
            if not one.optional:
                raise
            (folder / FAILED).write_text(" ".join(str(error).split()), "utf-8")


def _make_feeds(runner: Any, target: Target, folder: Path) -> None:
    if runner.inputs is None:
        raise UsageError(f"{target.label}: a callable has no signature to make inputs from: give it data")
    save_feeds(folder, varied_feeds(runner, _limits(target)))


def _limits(target: Target) -> dict[str, int]:
    """Of ids, where the graph shows how many there are."""
    if target.kind == "callable":
        return {}
    try:
        return Model.load(target.model).id_limits()
    except (MissingExtra, ModelError):  # ORT's own format runs, but its graph cannot be read
        return {}


def _save_source(source: FeedSource, folder: Path) -> None:
    count = 0
    for feed in source.feeds():  # one by one: they may be many
        save_feeds(folder, [feed], first=count)
        count += 1
    if not count:
        raise UsageError(f"{source.function}: gave no input")


def _run(runner: Any, one: Sweep, feeds: Path, folder: Path) -> None:
    start = perf_counter()
    tallies = Tallies(unpacked_spans(one.spans)) if one.against else None
    for number, feed in _numbered(feeds, one):
        try:
            outputs = named(
                runner.run(feed if one.nudge is None else nudge(feed, one.nudge, number)), one.names
            )
        except InputError as error:
            if not one.refusals:
                raise
            save_refusal(answer_file(folder, number), str(error))
            continue
        if tallies is None:
            save_answer(answer_file(folder, number), outputs)
        else:
            before = load_answer(answer_file(Path(one.against or ""), number))
            tallies.add(number, before, normal(outputs))
    if tallies is not None:
        (folder / NOISE).write_bytes(msgspec.msgpack.encode(tallies.as_noise()))
    (folder / SECONDS).write_text(str(perf_counter() - start), "utf-8")


def _numbered(feeds: Path, one: Sweep) -> Iterator[tuple[int, dict[str, Any]]]:
    """Input by input, so that large data never lies in memory whole."""
    files = sorted(feeds.glob("*.npz"))
    numbers = range(len(files)) if one.numbers is None else one.numbers
    for number in spread(len(files), one.most) if one.most else numbers:
        yield number, read_npz(files[number])  # of a model without inputs it is empty


def spread(count: int, most: int) -> list[int]:
    """At most `most` of the numbers below `count`, evenly spread, the first among them."""
    few = min(count, most)
    return sorted({n * count // few for n in range(few)})


def main() -> None:
    request = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Request)
    end_with_parent()
    answer_and_end(partial(answer, request), request.outcome)


if __name__ == "__main__":
    main()

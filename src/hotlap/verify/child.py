"""The answering process: ``python -m hotlap.verify.child REQUEST``.

It opens a target, runs it on every input, and writes the answers as files, or how far they differ from
answers that are there; several passes one after the other. A candidate may crash the process, and only this.
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
from hotlap.errors import HotlapError
from hotlap.runtime import find_feed
from hotlap.verify.answers import answer_file, load_answer, normal, save_answer
from hotlap.verify.noise import nudge
from hotlap.verify.span import unpacked_spans
from hotlap.verify.tally import Tallies

__all__ = ["FAILED", "NOISE", "SECONDS", "Pass", "Request"]

SECONDS, FAILED, NOISE = "seconds", "failed", "noise"
"""Files in a pass's folder."""


class Pass(msgspec.Struct, kw_only=True):
    """One pass over inputs.

    Attributes:
        target: what answers.
        folder: for the answers, and for the seconds that it all took (`SECONDS`).
        numbers: which inputs; None: all.
        nudge: seed of the change by one unit in the last place; None: the inputs as they are.
        optional: where it fails, the reason is written to `FAILED` in its folder and the next pass goes on.
        against: a folder of answers: nothing is kept but how far these differ from them, in `NOISE`.
        spans: of the outputs, by `packed_spans`; for `against`.
    """

    target: Target
    folder: str
    numbers: list[int] | None = None
    nudge: int | None = None
    optional: bool = False
    against: str | None = None
    spans: bytes = b""


class Request(msgspec.Struct, kw_only=True):
    """What to do (JSON).

    Attributes:
        feeds: a folder of inputs.
        passes: in this order; those of one target share a session.
        make: first make so many inputs that fit the first target's signature, and write them to `feeds`.
        outcome: the file to write the `Outcome` to.
    """

    feeds: str
    passes: list[Pass]
    make: int = 0
    outcome: str


def answer(request: Request) -> None:
    """All passes, one after the other.

    Raises:
        HotlapError: whatever opening or running raises in a pass that is not optional.
    """
    opened: dict[Target, Any] = {}
    for index, one in enumerate(request.passes):
        folder = Path(one.folder)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            if one.target not in opened:
                opened.clear()  # one session at a time: a model may fill the memory
                opened[one.target] = open_target(one.target)
            runner = opened[one.target]
            if index == 0 and request.make:
                _make_feeds(runner, Path(request.feeds), request.make)
            _run(runner, one, Path(request.feeds), folder)
        except HotlapError as error:
            if not one.optional:
                raise
            (folder / FAILED).write_text(" ".join(str(error).split()), "utf-8")


def _make_feeds(runner: Any, folder: Path, count: int) -> None:
    save_feeds(folder, [find_feed(runner.run, runner.inputs, seed=seed) for seed in range(count)])


def _run(runner: Any, one: Pass, feeds: Path, folder: Path) -> None:
    start = perf_counter()
    tallies = Tallies(unpacked_spans(one.spans)) if one.against else None
    for number, feed in _numbered(feeds, one.numbers):
        outputs = runner.run(feed if one.nudge is None else nudge(feed, one.nudge, number))
        if tallies is None:
            save_answer(answer_file(folder, number), outputs)
        else:
            before = load_answer(answer_file(Path(one.against or ""), number))
            tallies.add(number, before, normal(outputs))
    if tallies is not None:
        (folder / NOISE).write_bytes(msgspec.msgpack.encode(tallies.as_noise()))
    (folder / SECONDS).write_text(str(perf_counter() - start), "utf-8")


def _numbered(feeds: Path, numbers: list[int] | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Input by input, so that large data never lies in memory whole."""
    files = sorted(feeds.glob("*.npz"))
    for number in range(len(files)) if numbers is None else numbers:
        yield number, read_npz(files[number])  # of a model without inputs it is empty


def main() -> None:
    request = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Request)
    end_with_parent()
    answer_and_end(partial(answer, request), request.outcome)


if __name__ == "__main__":
    main()

"""Measuring runs: fresh processes one after the other, in balanced order, never two at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from hotlap.bench.comparison import SAME, Comparison, compare_measurements
from hotlap.bench.data import Feed, load_feeds, save_feeds
from hotlap.bench.doubts import is_disturbed, measurement_doubts, overload_doubt, void_doubt
from hotlap.bench.measurement import Measurement
from hotlap.bench.process import make_feeds, run_once, temporary_folder
from hotlap.bench.result import ProcessResult
from hotlap.bench.slowest import slowest_inputs
from hotlap.bench.target import Target
from hotlap.bench.workload import Workload
from hotlap.errors import MissingExtra, ModelError, UsageError
from hotlap.machine import Machine
from hotlap.model import Model
from hotlap.runtime import file_digest

__all__ = [
    "Feeds",
    "Progress",
    "balanced",
    "compare",
    "compare_each",
    "feeds_on_disk",
    "measure",
    "measurement_of",
]

Feeds = str | Path | Sequence[Feed] | None
"""A .npz file, a folder of them, feeds in memory, or None: one feed is made to fit the signature."""
Progress = Callable[[int, int, str], None]
"""Called after each process with (processes done, of how many, the label of the next one)."""

RETRIES = 0.25
"""At most this share of the processes is measured again because others disturbed it, each of them once."""


def measure(
    target: Target,
    workload: Workload | None = None,
    feeds: Feeds = None,
    on_progress: Progress | None = None,
    *,
    rows: bool = False,
    keep_inputs: str | Path | None = None,
) -> Measurement:
    """Measure one target in `Workload.processes` fresh processes. The arguments are those of `compare`.

    Args:
        keep_inputs: a folder for the ten slowest inputs, each a .npz named by its place among the feeds.

    Raises:
        TargetFailed: a process crashed, hung or refused; nothing is returned then.
        InputError, UsageError: the feeds are broken or missing.
    """
    workload = workload or Workload()
    (result,) = _run((target,), workload, feeds, rows, on_progress, keep_inputs=keep_inputs)
    return result


def compare(
    baseline: Target,
    candidate: Target,
    workload: Workload | None = None,
    feeds: Feeds = None,
    on_progress: Progress | None = None,
    *,
    rows: bool = False,
    percentile: float = 50,
    same: float = SAME,
    until: float | None = None,
    keep_inputs: str | Path | None = None,
) -> Comparison:
    """Measure two targets in turn (A B B A …), each alone in its own fresh process, and compare them.

    Args:
        baseline, candidate: the sides; the verdict is about the candidate.
        workload: how long and how often.
        feeds: what they are asked; both sides get the same.
        on_progress: told after each process.
        rows: each .npz of `feeds` holds many feeds along axis 0.
        percentile: of the latency that the headline compares.
        same: the margin of "the same within", 0.02 for 2 %.
        until: a time of `time.monotonic`: no further round (one process of each side) starts that would
            probably end after it. One round runs in any case.
        keep_inputs: a folder for the candidate's ten slowest inputs, as for `measure`.

    Raises:
        TargetFailed: a process crashed, hung or refused.
        InputError, UsageError: the feeds are broken or missing.
    """
    a, b = _run(
        (baseline, candidate),
        workload or Workload(),
        feeds,
        rows,
        on_progress,
        until,
        keep_inputs=keep_inputs,
    )
    return compare_measurements(a, b, percentile=percentile, same=same)


def compare_each(
    targets: Sequence[Target],
    pairs: Sequence[tuple[int, int]],
    workload: Workload | None = None,
    feeds: Feeds = None,
    on_progress: Progress | None = None,
    *,
    rows: bool = False,
    percentile: float = 50,
    same: float = SAME,
    until: float | None = None,
) -> tuple[Comparison, ...]:
    """Measure several targets in turn, in one run, and compare pairs of them, corrected for many looks.

    With ten comparisons at 5 % each, one false verdict is to be expected somewhere. So each interval is
    widened to err in 5 % / pairs (Bonferroni), and all of them together hold with 95 %.

    Args:
        targets: each is measured once, in every round.
        pairs: (baseline, candidate) as places in `targets`.
        workload, feeds, on_progress, rows, percentile, same, until: as for `compare`.

    Raises:
        TargetFailed: a process crashed, hung or refused.
        InputError, UsageError: the feeds are broken or missing, or there is no pair.
    """
    if not pairs:
        raise UsageError("there is nothing to compare: name a baseline and a candidate")
    found = _run(tuple(targets), workload or Workload(), feeds, rows, on_progress, until)
    return tuple(
        compare_measurements(found[a], found[b], percentile=percentile, looks=len(pairs), same=same)
        for a, b in pairs
    )


def balanced(sides: int, rounds: int) -> list[int]:
    """The order of the sides: each round has all of them, every second round backwards (0 1 1 0 …).

    So a drift that is steady over time touches the sides alike.
    """
    forth = list(range(sides))
    return [side for n in range(rounds) for side in (forth if n % 2 == 0 else forth[::-1])]


def measurement_of(
    target: Target,
    workload: Workload,
    results: Sequence[ProcessResult],
    *,
    generated: bool = False,
    feeds: Sequence[Feed] = (),
) -> Measurement:
    """The processes of one target as a `Measurement`, with this machine, the time now and the doubts.

    `feeds`, as they were given, are what its slowest inputs are described from.
    """
    void = void_doubt(results)
    found = Measurement(
        target=target,
        workload=workload,
        machine=Machine.brief().table(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        processes=tuple(results),
        generated=generated,
        void=bool(void),
        digest=_digest(target),
        slowest=slowest_inputs([r.slowest for r in results], feeds),
    )
    told = (void, overload_doubt(found), *measurement_doubts(results))
    return msgspec.structs.replace(found, doubts=tuple(t for t in told if t))


def _digest(target: Target) -> str | None:
    try:
        return file_digest(Path(target.model)) if target.model else None
    except (OSError, ModelError):
        return None


@contextmanager
def feeds_on_disk(target: Target, workload: Workload, feeds: Feeds, rows: bool = False) -> Iterator[Path]:
    """Where the measuring processes read the feeds from; in a temporary folder unless they are files.

    Files are looked through here once, so that a broken one is told before anything is measured.

    Raises:
        InputError, UsageError: the files are broken or missing.
        TargetFailed: there are none, and none could be made for the target.
    """
    if isinstance(feeds, str | Path):
        load_feeds(feeds, rows)
        yield Path(feeds)
        return
    with temporary_folder() as folder:
        if feeds is None:
            yield make_feeds(target, workload, folder, _id_limits(target))
        else:
            yield save_feeds(folder, list(feeds))


def _id_limits(target: Target) -> dict[str, int]:
    """How many ids each integer input may take, where the graph library is there to tell."""
    if not target.model:
        return {}
    try:
        return Model.load(target.model).id_limits()
    except (MissingExtra, ModelError):  # what opens it tells what is wrong with it
        return {}


def _run(
    targets: tuple[Target, ...],
    workload: Workload,
    feeds: Feeds,
    rows: bool,
    on_progress: Progress | None,
    until: float | None = None,
    keep_inputs: str | Path | None = None,
) -> list[Measurement]:
    found: list[list[ProcessResult]] = [[] for _ in targets]
    order = balanced(len(targets), workload.processes)
    tell = on_progress or (lambda done, total, label: None)
    spare = int(RETRIES * len(order))
    longest = 0.0
    with feeds_on_disk(targets[0], workload, feeds, rows) as folder:
        for number, side in enumerate(order):
            start = time.monotonic()
            round_begins = number and number % len(targets) == 0
            if round_begins and until is not None and start + len(targets) * longest > until:
                break
            tell(number, len(order), targets[side].label)
            turn = number // len(targets)
            result = run_once(targets[side], workload, folder, rows=rows, turn=turn)
            longest = max(longest, time.monotonic() - start)
            if spare and is_disturbed(result) and (until is None or time.monotonic() + longest < until):
                spare -= 1
                again = run_once(targets[side], workload, folder, rows=rows, turn=turn)
                result = _calmer(result, again)
            found[side].append(msgspec.structs.replace(result, order=number))
        tell(len(order), len(order), "")
        several = any(len(r.slowest) > 1 for results in found for r in results)
        inputs = load_feeds(folder, rows) if several else []
        measured = [
            measurement_of(target, workload, results, generated=feeds is None, feeds=inputs)
            for target, results in zip(targets, found, strict=True)
        ]
        if keep_inputs is not None:
            _keep(measured[-1], inputs, Path(keep_inputs))
    return measured


def _keep(measurement: Measurement, inputs: Sequence[Feed], folder: Path) -> None:
    for slow in measurement.slowest:
        save_feeds(folder, [inputs[slow.index]], first=slow.index)


def _calmer(first: ProcessResult, second: ProcessResult) -> ProcessResult:
    """The one that was disturbed less; never chosen by its latency."""
    chosen = first if (first.disturbance or 0.0) <= (second.disturbance or 0.0) else second
    return msgspec.structs.replace(chosen, retried=1)

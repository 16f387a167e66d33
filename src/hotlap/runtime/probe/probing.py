"""`probe`: what a model does, learned by running it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hotlap.errors import HotlapError, InputError
from hotlap.plan import Facts, StuckAxis
from hotlap.runtime import ort
from hotlap.runtime.arrays import as_arrays
from hotlap.runtime.feeds import find_feed
from hotlap.runtime.probe.alike import gap, is_tensor, rounding
from hotlap.runtime.probe.axes import is_batch
from hotlap.runtime.probe.lengths import Length, find_lengths
from hotlap.runtime.probe.padding import Kind, judge_padding
from hotlap.runtime.probe.rows import MANY, Verdict, judge_rows
from hotlap.runtime.probe.shapes import real_shapes
from hotlap.runtime.probe.structure import COUNTS, Structure, find_structure
from hotlap.runtime.probe.tries import TIME_UP, Feed, OutOfTime, Runs, Tries, first_run
from hotlap.tensors import TensorSpec

__all__ = ["SECONDS", "probe"]

SECONDS = 8.0
"""What probing may take, the first run not counted."""
_REPEATS = 3
_TIMED = 5
_BUILT_FOR = (2, 4, 8, 16, 32)
"""Numbers of rows that people export with; tried where the model does not run with one."""


@dataclass(slots=True)
class _Learned:
    found: Structure | None = None
    verdict: Verdict = field(default_factory=lambda: Verdict("unknown", f"{TIME_UP} before rows were tried"))
    stuck: tuple[StuckAxis, ...] = ()
    lengths: list[Length] = field(default_factory=list)
    padding: dict[str, Kind] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def probe(
    runner: Runs,
    *,
    feed: Mapping[str, Any] | None = None,
    limits: Mapping[str, int] | None = None,
    declared: Sequence[TensorSpec] | None = None,
    seconds: float = SECONDS,
) -> Facts:
    """What running a model shows that its declarations do not say, or say wrongly.

    It is run with 1, 2, 3 rows and with other lengths, on rows that fit the signature; `Facts` tells what can
    be learned. What could not be learned, for lack of time or of variety, is "unknown".

    Args:
        runner: an open `Runner`, or anything with its `inputs`, `outputs` and `run`.
        feed: one real feed, of one or more rows; None: one is made from the signature.
        limits: input to how many ids there are, for made rows.
        declared: the outputs as the file has them; None: as the runner has them. ONNX Runtime corrects what
            it can infer, so what it says may hide what the file says wrongly.
        seconds: what it may take, roughly; a slow model gets fewer tries.

    Raises:
        InputError: the feed does not run, or none could be made that does.
        DeadlineExceeded: the first run did not end within a minute.
    """
    limits = dict(limits or {})
    base = _found(runner, limits) if feed is None else _given(runner.inputs, feed)
    tries = Tries(runner, seconds)
    answers, said = tries.run(base)
    if said:
        raise InputError(said)
    repeats_by = _repeats(tries, base, answers)
    learned = _learn(tries, base, limits, repeats_by)
    axes = {} if learned.found is None else {**learned.found.rows.axes, **learned.found.axes}
    return Facts(
        rows=learned.verdict.rows,
        why=learned.verdict.why,
        axes=axes,
        stuck=learned.stuck,
        shapes=real_shapes(tries, learned.stuck, declared),
        repeats="unknown" if repeats_by is None else "differ" if repeats_by else "equal",
        repeats_by=min(repeats_by or 0.0, 2.0),
        padding=learned.padding,
        seconds=learned.seconds,
        onnxruntime=_version(),
        date=datetime.date.today().isoformat(),
    )


def _version() -> str:
    try:
        return str(ort.load().__version__)
    except HotlapError:  # something else runs the model
        return ""


def _given(inputs: Sequence[TensorSpec], feed: Mapping[str, Any]) -> Feed:
    """The user's feed, taken as `Runner.run` takes it; but only arrays can be varied."""
    arrays = as_arrays(inputs, feed)
    odd = [name for name, value in arrays.items() if not isinstance(value, np.ndarray)]
    if odd:
        raise InputError(
            [f'input "{name}": {type(feed[name]).__name__} given, probing needs an array' for name in odd]
        )
    return arrays


def _found(runner: Runs, limits: Mapping[str, int]) -> Feed:
    run = first_run(runner)
    try:
        return find_feed(run, runner.inputs, limits=limits)
    except InputError:
        symbols = {d for s in runner.inputs for d in s.shape if is_batch(d)}
        for rows in _BUILT_FOR if symbols else ():
            try:
                sizes = {str(s): rows for s in symbols}
                return find_feed(run, runner.inputs, sizes=sizes, limits=limits)
            except InputError:
                continue
        raise


# ── the stages, in the order of what they are worth ───────────────────────────────────────────────────


def _repeats(tries: Tries, base: Feed, answers: Mapping[str, Any]) -> float | None:
    """By how much equal runs differ at most, as a share of the range; None: not learned."""
    apart = 0.0
    try:
        for _ in range(_REPEATS - 1):
            again = tries.run(base)[0]
            pairs = [(a, again[n]) for n, a in answers.items() if is_tensor(a)]
            apart = max([apart, *(gap(a, b) for a, b in pairs)])
    except OutOfTime:
        return None
    return apart


def _learn(tries: Tries, base: Feed, limits: Mapping[str, int], repeats_by: float | None) -> _Learned:
    learned = _Learned()
    with suppress(OutOfTime):
        learned.found = find_structure(tries, base, limits)
        learned.verdict = _verdict(tries, learned.found, repeats_by)
    with suppress(OutOfTime):
        _time(tries, base, learned)
    with suppress(OutOfTime):
        if learned.found is not None:
            learned.stuck = learned.found.stuck(tries)
        for length in find_lengths(tries, base, learned.found):
            learned.lengths.append(length)
            learned.stuck += length.stuck()
    for length in learned.lengths:
        learned.padding[length.key] = "unknown"
        with suppress(OutOfTime):
            learned.padding[length.key] = _padding(tries, base, length, limits, repeats_by)
    if learned.found is not None and {(s.input, s.axis) for s in learned.stuck} & set(
        learned.found.rows.axes.items()
    ):
        learned.found = None  # an axis that cannot change is none of rows
    return learned


def _verdict(tries: Tries, found: Structure | None, repeats_by: float | None) -> Verdict:
    if found is None:
        return Verdict("unknown", _no_rows(tries.inputs))
    if repeats_by is None:
        return Verdict("unknown", f"{TIME_UP} before equal runs had been compared")
    if repeats_by > float(rounding(np.zeros(1, np.float32))):
        return Verdict(
            "unknown", f"equal runs differ by {repeats_by:.2g} of the range, so rows cannot be compared"
        )
    for count in COUNTS:
        if count in found.fails:
            return Verdict("unknown", f"with {count} rows: {found.fails[count]}")
    return judge_rows(tries, found, repeats_by)


def _no_rows(inputs: Sequence[TensorSpec]) -> str:
    if not inputs:
        return "the model takes no input"
    fixed = next((s for s in inputs if s.ranked and s.shape and isinstance(s.shape[0], int)), inputs[0])
    return f'no axis of rows can change: input "{fixed.name}" is declared {fixed.label}'


def _padding(
    tries: Tries, base: Feed, length: Length, limits: Mapping[str, int], repeats_by: float | None
) -> Kind:
    if repeats_by is None or repeats_by > float(rounding(np.zeros(1, np.float32))):
        return "unknown"
    return judge_padding(tries, base, length, limits, repeats_by)


def _time(tries: Tries, base: Feed, learned: _Learned) -> None:
    found = learned.found
    if found is None or not found.copies:
        learned.seconds["1"] = _median(tries, base)
        return
    for count in sorted({*found.copies, *((MANY,) if found.whole else ())}):
        feed = found.rows.stacked([found.rows.row(0)] * count)
        # The larger number is a bonus: it may not take the time of what comes after.
        if count == MANY and (tries.cost(feed) * _TIMED > tries.left / 4 or tries.run(feed)[1]):
            continue
        learned.seconds[str(count)] = _median(tries, feed)


def _median(tries: Tries, feed: Feed) -> float:
    """Of fewer calls where one takes long."""
    affordable = int(tries.left / 8 / max(tries.cost(feed), 1e-9))
    return tries.seconds(feed, max(1, min(_TIMED, affordable)))

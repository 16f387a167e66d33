"""When requests come, decided before the first one: pure functions from a rate or a trace to times.

Times are seconds from the start of measuring, float64, ascending, the first at 0 or later.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from hotlap.errors import InputError, UsageError

__all__ = ["Times", "constant", "load_trace", "poisson", "replay", "save_trace"]

Times = npt.NDArray[np.float64]


def poisson(
    rate: float, *, seconds: float = float("inf"), count: int | None = None, seed: int | tuple[int, ...] = 0
) -> Times:
    """Requests that know nothing of each other: exponential gaps, mean ``1 / rate``.

    Args:
        rate: requests a second, on average.
        seconds: none comes at or after this.
        count: exactly so many, whatever `seconds` is; None: as many as come within `seconds`.
        seed: equal seeds give equal times.
    """
    draw = np.random.default_rng(seed)
    if count is not None:
        return np.cumsum(draw.exponential(1 / rate, count))
    times = np.empty(0)
    while not times.size or times[-1] < seconds:
        start = times[-1] if times.size else 0.0
        some = draw.exponential(1 / rate, max(16, int(rate * (seconds - start) * 1.1)))
        times = np.concatenate([times, start + np.cumsum(some)])
    return times[times < seconds]


def constant(rate: float, *, seconds: float = float("inf"), count: int | None = None) -> Times:
    """Requests at equal distances of ``1 / rate``, the first at 0. Arguments as for `poisson`."""
    number = int(np.ceil(seconds * rate - 1e-9)) if count is None else count
    return np.arange(number) / rate


def replay(trace: Times, *, seconds: float = float("inf"), count: int | None = None, turn: int = 0) -> Times:
    """A stretch of a recorded trace; each turn takes the next one, so that together they cover it.

    Args:
        trace: the recorded times; any origin.
        seconds: how long a stretch is.
        count: how many requests a stretch has; None: as many as came within `seconds`.
        turn: which stretch; after the last one the trace starts again, one mean gap later.

    Returns:
        the times of the stretch from its own start; empty where nothing came in it.
    """
    span = _span(trace)
    if count is not None:
        first, n = turn * count, len(trace)
        place = np.arange(first, first + count)
        times = trace[place % n] - trace[0] + (place // n) * span
        return np.asarray(times - (times[0] if count else 0.0))
    begin, end = turn * seconds, (turn + 1) * seconds
    around = np.arange(int(begin // span), int(end // span) + 1)
    times = (trace[None, :] - trace[0] + around[:, None] * span).ravel()
    return np.asarray(times[(times >= begin) & (times < end)] - begin)


def _span(trace: Times) -> float:
    """How long a trace is, with one mean gap at its end before it may start again."""
    length = float(trace[-1] - trace[0])
    return length * len(trace) / (len(trace) - 1) if length >= 1e-6 else 1.0  # all at once: again each second


def load_trace(path: str | Path) -> Times:
    """The times in a file: one number of seconds a line; what follows a ``#`` is a remark.

    Returns:
        float64[n], n at least 2, ascending, from 0.

    Raises:
        UsageError: no such file.
        InputError: a line is no number, the times go back, or there are fewer than two.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    times = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            times.append(float(text))
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {text[:40]!r} is no number of seconds") from error
    found = np.array(times)
    if len(found) < 2:
        raise InputError(
            f"{path}: a trace needs two arrival times or more, one a line; there are {len(found)}"
        )
    if not np.isfinite(found).all() or (np.diff(found) < 0).any():
        raise InputError(f"{path}: arrival times must be finite and never go back")
    return np.asarray(found - found[0])


def save_trace(path: str | Path, times: Times) -> None:
    """Write times as a file that `load_trace` reads: one a line, in seconds, to the microsecond."""
    Path(path).write_text("".join(f"{t:.6f}\n" for t in times), encoding="ascii")

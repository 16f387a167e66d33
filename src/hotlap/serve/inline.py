"""Which jobs are so short that they run on the event loop itself: `Inline`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hotlap.serve.job import Job
from hotlap.serve.warming import Timed

__all__ = ["ALONE", "TOGETHER", "Inline", "longest"]

ALONE = 100e-6
"""Seconds. With one CPU a lane cannot run beside the loop, so a call below this is inline even where the hop
is shorter: others wait as long. Below this two lanes were slower than one even with CPUs for both."""
TOGETHER = 32
"""Requests that the loop takes up together, and answers that it writes so. More of them would save little,
and the first one waits for the last."""
_PATIENCE = 300e-6
"""Seconds that the first may wait for the others' calls, where each has its own."""
_SLOW = 20
"""Times the longest that was measured, at least `_SLOWEST`: so long a call was more than an interruption."""
_SLOWEST = 2e-3
_OFTEN = 3
_REMEMBERED = 1024

Shapes = tuple[tuple[int, ...], ...]


def longest(hop: float, cpus: int) -> float:
    """Seconds up to which a call runs on the loop.

    Args:
        hop: from the loop to a thread and back.
        cpus: that the process may use.
    """
    return hop if cpus > 1 else max(hop, ALONE)


class Inline:
    """Jobs no larger, on any axis, than a feed that was measured and was short enough.

    A model whose time depends on values (a loop in it) can still be slow: three slow calls in a row end it.

    Args:
        names: of the inputs.
        timed: what was measured.
        limit: seconds; a longer call is none for the loop.
    """

    def __init__(self, names: Sequence[str], timed: Iterable[Timed], limit: float) -> None:
        self._names = tuple(names)
        self._only = names[0] if len(names) == 1 else None
        short = [t for t in timed if t.seconds <= limit]
        self._bounds: list[Shapes] = [tuple(t.shapes[n] for n in self._names) for t in short]
        self._most = max((t.seconds for t in short), default=0.0)
        self._slow = max(_SLOWEST, _SLOW * self._most)
        self._known: dict[Shapes, bool] = {}
        self._in_a_row = 0

    def __bool__(self) -> bool:
        return bool(self._bounds)

    def takes(self, job: Job) -> bool:
        """Whether the job runs on the loop."""
        if not self._bounds:
            return False
        request = job.request
        feed, shapes = request.feed, request.shapes
        if request.regions or self._only is None:
            have: Shapes = tuple([feed[n].shape if n in feed else shapes[n] for n in self._names])
        else:
            have = (feed[self._only].shape,)
        known = self._known.get(have)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[have] = any(_within(have, bound) for bound in self._bounds)
        return known

    def together(self, *, shared: bool) -> int:
        """How many requests are best taken up together.

        Args:
            shared: several of them share a call.
        """
        if not self:
            return 1
        return TOGETHER if shared else max(1, min(TOGETHER, int(_PATIENCE / max(self._most, 1e-9))))

    def took(self, seconds: float) -> bool:
        """Told of each call; False: from now on no job runs on the loop."""
        if seconds < self._slow:
            self._in_a_row = 0
            return True
        self._in_a_row += 1
        if self._in_a_row < _OFTEN:
            return True
        self._bounds = []
        return False


def _within(have: Shapes, bound: Shapes) -> bool:
    return all(
        len(mine) == len(most) and all(a <= b for a, b in zip(mine, most, strict=True))
        for mine, most in zip(have, bound, strict=True)
    )

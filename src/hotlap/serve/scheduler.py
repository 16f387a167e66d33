"""Which jobs go next, and together: `Scheduler`. Pure: jobs and a clock's readings in, decisions out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from itertools import islice
from typing import Generic, Protocol, TypeVar

from hotlap.errors import Overloaded

__all__ = ["LOOK", "Scheduler", "Waiting"]

LOOK = 64
"""Waiting jobs that are looked at for mates; a queue of strangers must not cost more than it brings."""


class Waiting(Protocol):
    """What can wait. See `hotlap.serve.job.Job` for the meaning."""

    @property
    def rows(self) -> int: ...
    @property
    def key(self) -> Hashable: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def level(self) -> int: ...
    @property
    def deadline(self) -> float | None: ...


W = TypeVar("W", bound=Waiting)


def alone(rows: int, nbytes: int) -> int:
    """No more than one row in a call."""
    return 1


class Scheduler(Generic[W]):
    """A bounded queue. First come first served within a level of priority, higher levels first; only jobs
    that join the head's call overtake those that cannot.

    Not locked: whoever shares it between threads does that.

    Args:
        requests, nbytes: that may wait; one more is refused. A job larger than `nbytes` is taken by an empty
            queue.
        levels: of priority.
        pays: (rows that could go together, their bytes) to how many of them should; less than 2: none.

    Attributes:
        nbytes: of the inputs of the jobs that wait.
    """

    def __init__(
        self, *, requests: int, nbytes: int, levels: int = 1, pays: Callable[[int, int], int] = alone
    ) -> None:
        self._most_requests, self._most_bytes = requests, nbytes
        self._queues: tuple[OrderedDict[W, None], ...] = tuple(OrderedDict() for _ in range(levels))
        self._count = 0
        self.nbytes = 0
        self.pays = pays

    def __len__(self) -> int:
        return self._count

    def check(self, nbytes: int) -> None:
        """Raises Overloaded where a job of so many bytes would be refused now."""
        if self._count >= self._most_requests:
            wait = "1 request waits" if self._count == 1 else f"{self._count} requests wait"
            raise Overloaded(f"{wait} already, and no more may: try again later")
        if self._count and self.nbytes + nbytes > self._most_bytes:
            raise Overloaded(
                f"{self._count} requests of {self.nbytes:,} bytes wait already; {nbytes:,} more would exceed "
                f"{self._most_bytes:,}: try again later"
            )

    def push(self, job: W) -> None:
        """Let it wait.

        Raises:
            Overloaded: as `check`.
        """
        self.check(job.nbytes)
        self._queues[job.level][job] = None
        self._count += 1
        self.nbytes += job.nbytes

    def remove(self, job: W) -> bool:
        """Forget it; whether it was waiting."""
        queue = self._queues[job.level]
        if job not in queue:
            return False
        self._out(queue, job)
        return True

    def take(self, now: float, takers: int = 1) -> tuple[list[W], list[W]]:
        """What one call should run now; and jobs whose deadline has passed, which must not run any more.

        Args:
            now: on the clock of the deadlines.
            takers: lanes that there are: what waits is shared, or one would run it all while others go idle.
        """
        late: list[W] = []
        for queue in self._queues:
            while queue:
                head = next(iter(queue))
                if head.deadline is not None and head.deadline <= now:
                    self._out(queue, head)
                    late.append(head)
                    continue
                batch = self._together(queue, head, now, takers)
                for job in batch:
                    self._out(queue, job)
                return batch, late
        return [], late

    def _together(self, queue: OrderedDict[W, None], head: W, now: float, takers: int) -> list[W]:
        if head.key is None or len(queue) == 1:
            return [head]
        mates = [
            job
            for job in islice(queue, LOOK)
            if job.key == head.key and (job.deadline is None or job.deadline > now)
        ]
        rows, nbytes = sum(j.rows for j in mates), sum(j.nbytes for j in mates)
        most = self.pays(-(-rows // takers), nbytes // takers)
        batch, filled = [head], head.rows
        for job in mates[1:]:
            if filled + job.rows > most:
                break
            batch.append(job)
            filled += job.rows
        return batch

    def _out(self, queue: OrderedDict[W, None], job: W) -> None:
        del queue[job]
        self._count -= 1
        self.nbytes -= job.nbytes

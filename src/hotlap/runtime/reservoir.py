"""Which of many things to keep: a uniform sample of a stream, bounded in number and in bytes."""

from __future__ import annotations

import random

__all__ = ["Reservoir"]


class Reservoir:
    """Decides; what is kept lies elsewhere, in numbered slots.

    Of n things seen, each is kept with the same chance, ``kept / n``. Where the bytes run out, random ones
    go and fewer slots are left from then on, so the sample stays uniform.

    Args:
        most: slots.
        size: bytes of all kept things together.
        random: what draws.

    Source: Vitter, ACM Transactions on Mathematical Software 11 (1985), 37 to 57, algorithm R.
    """

    def __init__(self, most: int, size: int, random: random.Random) -> None:
        self.capacity = most
        self.seen = 0
        self._size = size
        self._random = random
        self._kept: dict[int, int] = {}  # slot -> bytes

    def wants_next(self) -> bool:
        """Count one more thing; whether it is to be kept. If so, `put` comes next."""
        self.seen += 1
        return self.capacity > 0 and self._random.random() * self.seen < self.capacity

    def put(self, size: int) -> tuple[int, list[int]]:
        """Keep a thing of so many bytes.

        Returns:
            its slot, and the slots that are empty now: the new one's own among them if it does not fit.
        """
        if size > self._size:  # it alone: those that are kept stay, and so does the room for later ones
            free = next(n for n in range(len(self._kept) + 1) if n not in self._kept)
            return free, [free]
        if len(self._kept) < self.capacity:
            slot = next(n for n in range(len(self._kept) + 1) if n not in self._kept)
        else:
            slot = self._random.choice(sorted(self._kept))
        self._kept[slot] = size
        dropped = []
        while sum(self._kept.values()) > self._size:
            gone = self._random.choice(sorted(self._kept))
            self._kept.pop(gone, None)
            dropped.append(gone)
        if dropped:
            self.capacity = len(self._kept)
        return slot, dropped

"""What a recording looks like on disk: its files, each whole or appended to, and nothing but them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hotlap.runtime.npz import write_npz

__all__ = ["CLAIM", "RecordedFolder", "Shapes"]

CLAIM = "recording.json"
_MOST_BESIDE = 10_000

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
"""The shapes of one request: (input, shape) each."""


class RecordedFolder:
    """A folder of one recording: the wanted one, or the first beside it that holds none yet.

    Two processes never get the same: who creates its `CLAIM` file has it.

    Raises:
        OSError: it could not be made. So do all methods where a file could not be written.
    """

    def __init__(self, wanted: Path) -> None:
        self.path = _claimed(wanted)
        self._feeds = self.path / "feeds"
        self._feeds.mkdir(exist_ok=True)

    def keep(self, slot: int, feed: Mapping[str, Any], dropped: Sequence[int]) -> None:
        """Remove the feeds of the dropped slots, then write one to its slot if that is not among them."""
        for old in dropped:
            (self._feeds / f"{old:06}.npz").unlink(missing_ok=True)
        if slot not in dropped:
            part = self._feeds / f".{slot:06}.part"
            write_npz(part, feed)
            part.replace(self._feeds / f"{slot:06}.npz")

    def add_arrivals(self, times: Iterable[float]) -> None:
        """Append arrival times, seconds from the first one of all."""
        with (self.path / "arrivals.txt").open("a", encoding="ascii") as file:
            file.writelines(f"{t:.6f}\n" for t in times)

    def write_shapes(self, counts: Iterable[tuple[Shapes, int]], missed: int = 0) -> None:
        """How often each combination of shapes came, all of them anew; and how many feeds were missed."""
        table = [{"count": n, "shapes": {name: list(s) for name, s in shapes}} for shapes, n in counts]
        part = self.path / ".shapes.part"
        part.write_text(
            json.dumps({"format": 1, "shapes": table, **({"missed": missed} if missed else {})}),
            encoding="utf-8",
        )
        part.replace(self.path / "shapes.json")


def _claimed(wanted: Path) -> Path:
    for number in range(1, _MOST_BESIDE):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with (folder / CLAIM).open("x", encoding="utf-8") as file:
                json.dump({"format": 1, "pid": os.getpid(), "started": time.time()}, file)
        except FileExistsError:
            continue
        return folder
    raise OSError(f"{wanted}: {_MOST_BESIDE:,} recordings beside each other are enough")

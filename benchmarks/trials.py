"""A long benchmark in small steps: each is kept as soon as it is done, so a run can be taken up again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Trial = dict[str, Any]


class Trials:
    """Args: file: one JSON line a trial; None: nothing is kept."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.done: list[Trial] = []
        if file is not None and file.exists():
            self.done = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    def once(self, part: str, key: str, measure: Callable[[], Trial]) -> Trial:
        """The trial of that key, measured unless it was already."""
        for trial in self.done:
            if (trial["part"], trial["key"]) == (part, key):
                return trial
        trial = {"part": part, "key": key, **measure()}
        self.done.append(trial)
        if self.file is not None:
            self.file.parent.mkdir(exist_ok=True)
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(trial) + "\n")
        return trial

    def of(self, part: str) -> list[Trial]:
        return [trial for trial in self.done if trial["part"] == part]

    def forget(self) -> None:
        """Remove the file: the trials are in a result now."""
        if self.file is not None:
            self.file.unlink(missing_ok=True)

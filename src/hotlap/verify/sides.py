"""The answers of all sides on disk, in one temporary folder: who asks for them and reads them back."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.bench import Target, save_feeds
from hotlap.bench.npz import read_npz
from hotlap.bench.process import ask
from hotlap.errors import StorageError, UsageError
from hotlap.verify.answers import answer_file, load_answer
from hotlap.verify.child import SECONDS, Request, Sweep, spread
from hotlap.verify.source import FeedSource

__all__ = ["Sides", "spread"]

Feed = dict[str, Any]
CHILD = "hotlap.verify.child"


class Sides:
    """A temporary folder with the inputs and each side's answers to them; `close` removes it.

    Args:
        data: the inputs, or where they come from; None: they are made by the first process that is asked.
        maker: whose signature they are made to fit.

    Attributes:
        inputs: how many inputs there are; 0 until the first process was asked, where they are not given.

    Raises:
        UsageError: no input is given.
        StorageError: no room.
    """

    def __init__(self, data: Sequence[Feed] | FeedSource | None, maker: Target | None = None) -> None:
        if isinstance(data, Sequence) and not len(data):
            raise UsageError("no inputs to judge on: give one feed or more")
        self.inputs = len(data) if isinstance(data, Sequence) else 0
        self._make = maker if data is None else None
        self._source = data if isinstance(data, FeedSource) else None
        self._asked = 0
        try:
            self._temporary = tempfile.TemporaryDirectory(prefix="hotlap-verify-", ignore_cleanup_errors=True)
            self.home = Path(self._temporary.name)
            if isinstance(data, Sequence):
                feeds = [{name: np.asarray(value) for name, value in feed.items()} for feed in data]
                save_feeds(self.home / "feeds", feeds)
        except OSError as error:
            raise StorageError(f"no room for temporary files: {error.strerror or error}") from error

    def one(
        self,
        target: Target,
        name: str,
        numbers: list[int] | None = None,
        *,
        most: int = 0,
        refusals: bool = False,
        names: Sequence[str] = (),
    ) -> Sweep:
        """A sweep over the inputs; its answers are found again by `name`. The rest is `Sweep`'s."""
        return Sweep(
            target=target,
            folder=str(self.home / name),
            numbers=numbers,
            most=most,
            refusals=refusals,
            names=tuple(names),
        )

    def ask(self, sweeps: list[Sweep], label: str, allowed: float) -> Path:
        """Run sweeps in one fresh process and wait.

        Returns:
            the folder in which the process left what it said (``stderr``).

        Raises:
            TargetFailed: it crashed, hung (after `allowed` seconds) or refused.
            StorageError: no room for the answers.
        """
        self._asked += 1
        folder = self.home / f"question-{self._asked}"
        folder.mkdir()
        request = Request(
            feeds=str(self.home / "feeds"),
            sweeps=sweeps,
            make=self._make,
            source=self._source,
            outcome=str(folder / "outcome"),
        )
        ask(CHILD, request, folder, label, allowed)
        self._make = self._source = None
        self.inputs = self.inputs or len(list((self.home / "feeds").glob("*.npz")))
        return folder

    def seconds(self, name: str) -> float:
        """How long a sweep took, loading aside."""
        return float((self.home / name / SECONDS).read_text("utf-8"))

    def feed(self, number: int) -> Feed:
        return read_npz(answer_file(self.home / "feeds", number))

    def answers(self, name: str, numbers: Sequence[int] | None = None) -> Iterator[dict[str, Any]]:
        """The answers of a side, one after the other, to all inputs or to these."""
        chosen = range(self.inputs) if numbers is None else numbers
        return (load_answer(answer_file(self.home / name, number)) for number in chosen)

    def forget(self, name: str) -> None:
        """Remove a side's answers."""
        shutil.rmtree(self.home / name, ignore_errors=True)

    def close(self) -> None:
        """Remove everything. Closing twice is fine."""
        self._temporary.cleanup()

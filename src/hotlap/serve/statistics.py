"""What the protocol's statistics extension counts of a model: `Statistics`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotlap.serve.batch import Call
    from hotlap.serve.job import Job

__all__ = ["Statistics"]


@dataclass(slots=True)
class Statistics:
    """Counters of one model since the start. Counted on the event loop's thread alone."""

    inference_count: int = 0
    execution_count: int = 0

    def executed(self, call: Call) -> None:
        """The model ran once, for the jobs of `call`; told before they are observed."""
        self.execution_count += 1

    def observe(self, job: Job) -> None:
        """A job is over: answered (`job.outputs`), failed (`job.error`) or dropped (`job.dropped`)."""
        if job.outputs is not None:
            self.inference_count += job.rows or 1

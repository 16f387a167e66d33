"""What `optimize` found and did, in one value: `Optimised`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hotlap.bench import Comparison
from hotlap.bench.measurement import read_struct
from hotlap.passes.speed import CpuTime
from hotlap.passes.step import Step
from hotlap.plan.files import write_whole
from hotlap.verify import Verdict

__all__ = ["FORMAT", "Optimised"]

FORMAT = 1
"""Of the saved file. 1: the first."""


class Optimised(msgspec.Struct, frozen=True, kw_only=True):
    """The passes that were applied, the proof, the speed, and whether a file was written.

    Attributes:
        source, source_digest: the model that it began with.
        out: the file that was written; None where none was.
        digest: of the written file, or of what would have been written.
        reason: why nothing was written, or what speaks for the file; one sentence.
        refused: a gate said no: the answers, several rows at once, or the speed.
        steps: pass by pass.
        nodes: of the source.
        size, size_before: bytes of the files, external weights included.
        verdict: whether the answers agree; None where no pass changed anything.
        comparison: source against result, each as the runtime opens it with no options; None where it was not
            measured. The result's target names the file that was asked for, and none where none was.
        cpu: their CPU time a call, which decides where the comparison is void; None: not measured.
        not_measured: why not; "" where it was.
    """

    format: int = FORMAT
    source: str
    source_digest: str
    out: str | None
    digest: str
    reason: str
    steps: tuple[Step, ...]
    nodes: int
    size_before: int
    size: int
    verdict: Verdict | None = None
    comparison: Comparison | None = None
    cpu: CpuTime | None = None
    not_measured: str = ""
    refused: bool = False

    @property
    def written(self) -> bool:
        return self.out is not None

    @property
    def changed(self) -> bool:
        """Whether a pass changed anything."""
        return any(step.changed for step in self.steps)

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all. Raises StorageError."""
        write_whole(Path(path), msgspec.json.encode(self))

    @classmethod
    def load(cls, path: str | Path) -> Optimised:
        """Read what `save` wrote. Raises UsageError: missing, or something else."""
        return read_struct(path, cls, "optimisation", FORMAT)

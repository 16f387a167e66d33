"""What an inspection says, in one saved value: `Inspection`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hotlap.bench.measurement import read_struct
from hotlap.inspect.finding import SEVERITIES, Finding, Severity
from hotlap.model.anatomy import Anatomy
from hotlap.plan import Facts
from hotlap.plan.files import write_whole

__all__ = ["FORMAT", "Inspection", "Judged"]

# History of the saved format. A newer hotlap reads every older one.
# 1: the first.
FORMAT = 1


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What the model was judged for.

    Attributes:
        onnxruntime: version; "" where none is installed and none was named.
        processor: the kind that was named; "" for this machine's.
        providers: short names, first choice first.
    """

    onnxruntime: str
    processor: str = ""
    providers: tuple[str, ...] = ("cpu",)


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """One model and what is wrong with it.

    Attributes:
        format: of the saved file.
        anatomy: what the model is made of.
        judged: for what.
        findings: the worst first, then by code.
        ignored: codes that were left out, as the caller named them.
        ran: ONNX Runtime was to load and run it; False: only the file was read.
        data: what inputs it was run on: "generated" or "yours"; "" where nothing ran.
        facts: what probing learned; None where nothing ran.
        placement: provider to the number of its nodes, as ORT assigned them.
        unknown: what could not be learned, one line each, with the reason.
    """

    format: int = FORMAT
    anatomy: Anatomy
    judged: Judged
    findings: tuple[Finding, ...] = ()
    ignored: tuple[str, ...] = ()
    ran: bool = False
    data: str = ""
    facts: Facts | None = None
    placement: dict[str, int] = {}
    unknown: tuple[str, ...] = ()

    def count(self, severity: Severity) -> int:
        """How many findings are exactly this severe."""
        return sum(f.severity == severity for f in self.findings)

    def fails(self, on: Severity) -> bool:
        """Whether a finding is at least this severe."""
        least = SEVERITIES.index(on)
        return any(SEVERITIES.index(f.severity) >= least for f in self.findings)

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all.

        Raises:
            StorageError: it could not be written.
        """
        write_whole(Path(path), msgspec.json.encode(self))

    @classmethod
    def load(cls, path: str | Path) -> Inspection:
        """Read what `save` wrote.

        Raises:
            UsageError: missing, not an inspection, or written by a newer hotlap.
        """
        return read_struct(path, cls, "inspection", FORMAT)

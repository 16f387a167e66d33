"""Are the answers still the same? The gates that a candidate passes before it may be chosen."""

from __future__ import annotations

from hotlap.verify.levels import LEVELS, Level
from hotlap.verify.reference import Reference, verify
from hotlap.verify.verdict import OutputDiff, Verdict

__all__ = ["LEVELS", "Level", "OutputDiff", "Reference", "Verdict", "verify"]

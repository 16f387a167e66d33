"""Are the answers still the same? The gates that a candidate passes before it may be chosen."""

from __future__ import annotations

from hotlap.verify.bisect import bisect, first_not_finite
from hotlap.verify.divergence import Divergence, Walked
from hotlap.verify.examination import Examination, examine
from hotlap.verify.levels import LEVELS, Level
from hotlap.verify.metric import Change
from hotlap.verify.optimisers import Blame
from hotlap.verify.reference import Reference
from hotlap.verify.source import FeedSource
from hotlap.verify.verdict import Noise, OutputDiff, Verdict
from hotlap.verify.verifying import verify

__all__ = [
    "LEVELS",
    "Blame",
    "Change",
    "Divergence",
    "Examination",
    "FeedSource",
    "Level",
    "Noise",
    "OutputDiff",
    "Reference",
    "Verdict",
    "Walked",
    "bisect",
    "examine",
    "first_not_finite",
    "verify",
]

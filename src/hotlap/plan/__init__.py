"""The Plan, and the tables of every ORT option that it can set."""

from __future__ import annotations

from hotlap.plan.checks import FORMAT
from hotlap.plan.evidence import Evidence
from hotlap.plan.facts import Facts, StuckAxis
from hotlap.plan.files import write_whole
from hotlap.plan.model_ref import External, ModelRef
from hotlap.plan.options import Option
from hotlap.plan.run_options import RUN_OPTIONS
from hotlap.plan.serve import Serve
from hotlap.plan.session_options import SESSION_OPTIONS
from hotlap.plan.value import Plan

__all__ = [
    "FORMAT",
    "RUN_OPTIONS",
    "SESSION_OPTIONS",
    "Evidence",
    "External",
    "Facts",
    "ModelRef",
    "Option",
    "Plan",
    "Serve",
    "StuckAxis",
    "write_whole",
]

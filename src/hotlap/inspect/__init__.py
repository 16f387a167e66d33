"""What is wrong with a model, told before production does: `inspect`."""

from __future__ import annotations

from hotlap.inspect.finding import SEVERITIES, THEMES, Finding, Rule, Severity
from hotlap.inspect.inspecting import inspect
from hotlap.inspect.inspection import Inspection, Judged
from hotlap.inspect.rules import RULES
from hotlap.inspect.runtimes import CPUS, RELEASES

__all__ = [
    "CPUS",
    "RELEASES",
    "RULES",
    "SEVERITIES",
    "THEMES",
    "Finding",
    "Inspection",
    "Judged",
    "Rule",
    "Severity",
    "inspect",
]

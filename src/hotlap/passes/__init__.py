"""Passes: a better ONNX file that is proved to be the same model.

A pass is one file with ``requires / __call__ / ensures``; a list of passes is a Python list. `optimize`
applies them, proves the result, measures it, and only then writes it.
"""

from __future__ import annotations

from hotlap.passes.choosing import FIXES, PASSES, fix_for, named_pass
from hotlap.passes.draft import Draft
from hotlap.passes.optimised import Optimised
from hotlap.passes.optimising import default_passes, optimize
from hotlap.passes.step import Applied, Pass, Passed, Step, apply

__all__ = [
    "FIXES",
    "PASSES",
    "Applied",
    "Draft",
    "Optimised",
    "Pass",
    "Passed",
    "Step",
    "apply",
    "default_passes",
    "fix_for",
    "named_pass",
    "optimize",
]

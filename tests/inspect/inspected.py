"""The twelve real models, each inspected once for all tests."""

from __future__ import annotations

from functools import cache

from examples.inputs.inspections import inspection
from hotlap.inspect import Inspection
from tests.real import real

__all__ = ["inspected"]


@cache
def inspected(name: str) -> Inspection:
    """The model of that name on its real inputs; the test is skipped where its file is not there."""
    return inspection(real(name))

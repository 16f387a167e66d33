"""The version that a server tells."""

from __future__ import annotations

import hotlap
from hotlap.serve.version import VERSION


def test_it_is_hotlaps_own() -> None:
    assert hotlap.__version__ == VERSION

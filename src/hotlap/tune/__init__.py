"""Searching for the fastest plan whose answers agree, by measuring."""

from __future__ import annotations

from hotlap.tune.search import tune
from hotlap.tune.tuning import Budget, Trial, Tuning

__all__ = ["Budget", "Trial", "Tuning", "tune"]

"""The ONNX file as a value: `Model`, what it is made of, and what is wrong with its files of weights."""

from __future__ import annotations

from hotlap.model.anatomy import Anatomy, anatomy
from hotlap.model.external import ExternalProblem, external_problems
from hotlap.model.model import Model
from hotlap.model.walk import Walk
from hotlap.model.weights import WeightStats, weight_stats

__all__ = [
    "Anatomy",
    "ExternalProblem",
    "Model",
    "Walk",
    "WeightStats",
    "anatomy",
    "external_problems",
    "weight_stats",
]

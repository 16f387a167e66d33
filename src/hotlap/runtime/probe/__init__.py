"""Probing: a model is run to learn what its declarations do not say, or say wrongly."""

from __future__ import annotations

from hotlap.runtime.probe.bare import probed
from hotlap.runtime.probe.probing import SECONDS, probe

__all__ = ["SECONDS", "probe", "probed"]

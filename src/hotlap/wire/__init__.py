"""Bytes to tensors and back: the Open Inference Protocol (KServe v2) over HTTP, without any socket."""

from __future__ import annotations

from hotlap.wire.values import InferRequest, Region, Wanted

__all__ = ["InferRequest", "Region", "Wanted"]

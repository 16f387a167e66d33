"""Bytes to tensors and back: the Open Inference Protocol (KServe v2) over HTTP, without any socket."""

from __future__ import annotations

from hotlap.wire.compression import ENCODINGS, deflate, inflate
from hotlap.wire.decode import decode_infer
from hotlap.wire.encode import encode_infer
from hotlap.wire.metadata import model_config, model_metadata, server_metadata
from hotlap.wire.signature import Signature
from hotlap.wire.statistics import BatchStats, Duration, InferenceStats, ModelStats, statistics
from hotlap.wire.values import InferRequest, Region, Wanted

__all__ = [
    "ENCODINGS", "BatchStats", "Duration", "InferRequest", "InferenceStats", "ModelStats", "Region",
    "Signature", "Wanted", "decode_infer", "deflate", "encode_infer", "inflate", "model_config",
    "model_metadata", "server_metadata", "statistics",
]  # fmt: skip

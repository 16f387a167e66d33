"""What the server and its models are, in the protocol's JSON.

The fields and their spelling follow the answers of Triton, the protocol's first server: perf_analyzer reads
several of them unchecked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from hotlap.tensors import Dim
from hotlap.wire.port import Port
from hotlap.wire.signature import Signature

__all__ = ["model_config", "model_metadata", "server_metadata"]

PLATFORM, BACKEND = "onnxruntime_onnx", "onnxruntime"
"""What Triton calls a model that ONNX Runtime runs."""


def server_metadata(name: str, version: str, extensions: Sequence[str]) -> bytes:
    """The answer to ``GET /v2``."""
    return msgspec.json.encode({"name": name, "version": version, "extensions": list(extensions)})


def model_metadata(name: str, versions: Sequence[str], signature: Signature) -> bytes:
    """The answer to ``GET /v2/models/NAME``: shapes in full, -1 for axes of any size."""
    return msgspec.json.encode(
        {
            "name": name,
            "versions": list(versions),
            "platform": PLATFORM,
            "inputs": [_tensor(p) for p in signature.inputs.values()],
            "outputs": [_tensor(p) for p in signature.outputs.values()],
        }
    )


def model_config(
    name: str, signature: Signature, *, max_batch_size: int = 0, file_name: str = "model.onnx"
) -> bytes:
    """The answer to ``GET /v2/models/NAME/config``.

    Args:
        max_batch_size: rows that one request may have along the first axis of every tensor; 0: there is no
            such axis. Clients then leave that axis out of their reckoning, and so do the shapes here.
            Counts as 0 where the model does not have it (`Signature.batchable`).
        file_name: of the model.
    """
    most = max_batch_size if signature.batchable else 0
    skip = 1 if most else 0
    config = {
        "name": name,
        "platform": PLATFORM,
        "backend": BACKEND,
        "runtime": "",
        "version_policy": {"latest": {"num_versions": 1}},
        "max_batch_size": most,
        "input": [_config_input(p, skip) for p in signature.inputs.values()],
        "output": [_config_output(p, skip) for p in signature.outputs.values()],
        "batch_input": [],
        "batch_output": [],
        "instance_group": [],
        "default_model_filename": file_name,
        "cc_model_filenames": {},
        "metric_tags": {},
        "parameters": {},
        "model_warmup": [],
        "model_transaction_policy": {"decoupled": False},
        # Its presence alone tells perf_analyzer that requests may share a call.
        **({"dynamic_batching": {}} if most else {}),
    }
    return msgspec.json.encode(config)


def _tensor(port: Port) -> dict[str, Any]:
    return {"name": port.name, "datatype": port.datatype, "shape": _dims(port)}


def _config_input(port: Port, skip: int) -> dict[str, Any]:
    return {
        "name": port.name,
        "data_type": _type(port),
        "format": "FORMAT_NONE",
        "dims": _dims(port)[skip:],
        "is_shape_tensor": False,
        "allow_ragged_batch": False,
        "optional": port.optional,
        "is_non_linear_format_io": False,
    }


def _config_output(port: Port, skip: int) -> dict[str, Any]:
    return {
        "name": port.name,
        "data_type": _type(port),
        "dims": _dims(port)[skip:],
        "label_filename": "",
        "is_shape_tensor": False,
        "is_non_linear_format_io": False,
    }


def _type(port: Port) -> str:
    return "TYPE_STRING" if port.text else f"TYPE_{port.datatype}"


def _dims(port: Port) -> list[int]:
    """-1 where any size goes. A tensor whose rank nobody knows is told as one axis of any size."""
    shape: tuple[Dim, ...] = port.spec.shape if port.spec.ranked else (None,)
    return [d if isinstance(d, int) else -1 for d in shape]

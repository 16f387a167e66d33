"""Models run by plain ONNX Runtime: what the rules say of a model is compared with what it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from hotlap.inspect.case import Case, Ran, Runtime
from hotlap.model.walk import Walk
from hotlap.model.weights import weight_stats
from tests import tiny

__all__ = ["executed", "quick_case", "run", "session", "with_microsoft"]


def session(model: onnx.ModelProto, **options: Any) -> ort.InferenceSession:
    """A silent session of one thread."""
    chosen = ort.SessionOptions()
    chosen.intra_op_num_threads = 1
    chosen.log_severity_level = 4
    for name, value in options.items():
        setattr(chosen, name, value)
    return ort.InferenceSession(model.SerializeToString(), chosen, providers=["CPUExecutionProvider"])


def run(model: onnx.ModelProto, **feed: Any) -> list[Any]:
    """All outputs for one feed."""
    silent = ort.RunOptions()
    silent.log_severity_level = 4
    return session(model).run(None, feed, silent)


def executed(model: onnx.ModelProto, folder: Path) -> Walk:
    """The graph that ORT really runs on this machine."""
    path = folder / "executed.onnx"
    session(model, optimized_model_filepath=str(path))
    return Walk(onnx.load(path))


def with_microsoft(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, allowed to use ORT's own operators."""
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return model


def quick_case(model: onnx.ModelProto, ran: Ran | None = None) -> Case:
    """A case without an anatomy, from memory: for many small graphs."""
    walk = Walk(model)
    weights = {w.name: w for w in weight_stats(model, Path("nowhere"), walk)}
    nothing: Any = None
    return Case(anatomy=nothing, walk=walk, weights=weights, runtime=Runtime(ort="1.32.0"), ran=ran)


def small(model_nodes: Any, out: Any = None, weights: dict[str, Any] | None = None) -> onnx.ModelProto:
    """float32[batch, 8] in, y out."""
    info, kind = tiny.info, onnx.TensorProto.FLOAT
    return tiny.model(model_nodes, [info("x", kind, ["batch", 8])], [info("y", kind, out)], weights)


def rows(count: int, width: int = 8, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal((count, width), np.float32)

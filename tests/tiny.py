"""Models of a few nodes, built on the spot: one function for each kind that a test may need.

Each returns an ``onnx.ModelProto``; `save` writes it. Weights are seeded, so equal calls give equal bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

info = helper.make_tensor_value_info
node = helper.make_node


def save(model: onnx.ModelProto, path: Path) -> Path:
    """The model as a file at `path`, there whole or not at all: a test may run in several threads at once.

    Returns the path.
    """
    part = path.with_name(f"{path.name}.{threading.get_ident()}")
    part.write_bytes(model.SerializeToString(deterministic=True))
    part.replace(path)
    return path


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: dict[str, Any] | None = None,
    opset: int = 17,
    ml_opset: int | None = None,
) -> onnx.ModelProto:
    """A model from its parts; `weights` are arrays that become initializers."""
    initializers = [numpy_helper.from_array(np.asarray(w), name) for name, w in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "tiny", list(inputs), list(outputs), initializers)
    opsets = [helper.make_opsetid("", opset)]
    if ml_opset is not None:
        opsets.append(helper.make_opsetid("ai.onnx.ml", ml_opset))
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="tiny")


def add() -> onnx.ModelProto:
    """y = x + x; x: float32[N, 4]."""
    return model(
        [node("Add", ["x", "x"], ["y"])], [info("x", T.FLOAT, ["N", 4])], [info("y", T.FLOAT, ["N", 4])]
    )


def add_pair() -> onnx.ModelProto:
    """c = a + b; both float32[N, M]: two inputs that share two symbols."""
    return model(
        [node("Add", ["a", "b"], ["c"])],
        [info("a", T.FLOAT, ["N", "M"]), info("b", T.FLOAT, ["N", "M"])],
        [info("c", T.FLOAT, ["N", "M"])],
    )


def two_outputs() -> onnx.ModelProto:
    """total = a + b, product = a * b; both float32[N]."""
    return model(
        [node("Add", ["a", "b"], ["total"]), node("Mul", ["a", "b"], ["product"])],
        [info("a", T.FLOAT, ["N"]), info("b", T.FLOAT, ["N"])],
        [info("total", T.FLOAT, ["N"]), info("product", T.FLOAT, ["N"])],
    )


def mlp(features: int = 16, hidden: int = 32, classes: int = 4, seed: int = 0) -> onnx.ModelProto:
    """y = relu(x W1 + b1) W2 + b2; x: float32[batch, features], y: float32[batch, classes]."""
    rng = np.random.default_rng(seed)
    weights = {
        "w1": rng.standard_normal((features, hidden), np.float32),
        "b1": rng.standard_normal(hidden, np.float32),
        "w2": rng.standard_normal((hidden, classes), np.float32),
        "b2": rng.standard_normal(classes, np.float32),
    }
    return model(
        [
            node("Gemm", ["x", "w1", "b1"], ["h"]),
            node("Relu", ["h"], ["r"]),
            node("Gemm", ["r", "w2", "b2"], ["y"]),
        ],
        [info("x", T.FLOAT, ["batch", features])],
        [info("y", T.FLOAT, ["batch", classes])],
        weights,
    )


def mlp_external(folder: Path, name: str = "model.onnx", weights: str = "model.onnx.data") -> Path:
    """The `mlp` with its weights in a file of their own beside the model; returns the model's path."""
    path = folder / name
    onnx.save_model(
        mlp(),
        path,
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location=weights,
        size_threshold=0,
        convert_attribute=False,
    )
    return path


def external_at(location: str) -> onnx.ModelProto:
    """y = x + w, where w: float32[4] claims to lie in the file `location` (16 bytes from its start)."""
    built = model(
        [node("Add", ["x", "w"], ["y"])], [info("x", T.FLOAT, ["N", 4])], [info("y", T.FLOAT, ["N", 4])]
    )
    w = built.graph.initializer.add(name="w", data_type=T.FLOAT, dims=[4], data_location=T.EXTERNAL)
    for key, value in {"location": location, "offset": "0", "length": "16"}.items():
        w.external_data.add(key=key, value=value)
    return built


def gather_mask(rows: int = 100, width: int = 8, table: Any = None) -> onnx.ModelProto:
    """y = table[ids] * mask; ids, mask: int64[B, L]; y: float32[B, L, width]. A text model in small."""
    table = np.ones((rows, width), np.float32) if table is None else table
    return model(
        [
            node("Gather", ["table", "ids"], ["e"]),
            node("Cast", ["mask"], ["mf"], to=T.FLOAT),
            node("Unsqueeze", ["mf", "ax"], ["mu"]),
            node("Mul", ["e", "mu"], ["y"]),
        ],
        [info("ids", T.INT64, ["B", "L"]), info("mask", T.INT64, ["B", "L"])],
        [info("y", T.FLOAT, ["B", "L", width])],
        {"table": table, "ax": np.array([2], np.int64)},
    )


def identity(
    onnx_type: int = T.FLOAT, shape: Sequence[int | str | None] = ("N",), opset: int = 17
) -> onnx.ModelProto:
    """y = x of any element type and shape."""
    return model(
        [node("Identity", ["x"], ["y"])],
        [info("x", onnx_type, shape)],
        [info("y", onnx_type, shape)],
        opset=opset,
    )


def text() -> onnx.ModelProto:
    """y = x; text[N]."""
    return identity(T.STRING)


def scalar() -> onnx.ModelProto:
    """y = x + 1; float32 without axes."""
    return model(
        [node("Add", ["x", "one"], ["y"])],
        [info("x", T.FLOAT, [])],
        [info("y", T.FLOAT, [])],
        {"one": np.float32(1)},
    )


def empty() -> onnx.ModelProto:
    """y = x; float32[0, 3]: an axis of fixed size zero."""
    return identity(T.FLOAT, (0, 3))


def zipmap() -> onnx.ModelProto:
    """label = argmax(x), scores = one map per row, as scikit-learn classifiers export; x: float32[N, 2]."""
    scores = helper.make_value_info(
        "scores",
        helper.make_sequence_type_proto(
            helper.make_map_type_proto(T.INT64, helper.make_tensor_type_proto(T.FLOAT, []))
        ),
    )
    return model(
        [
            node("ArgMax", ["x"], ["label"], axis=1, keepdims=0),
            node("ZipMap", ["x"], ["scores"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]),
        ],
        [info("x", T.FLOAT, ["N", 2])],
        [info("label", T.INT64, ["N"]), scores],
        ml_opset=1,
    )


def sequence() -> onnx.ModelProto:
    """parts = x split along its first axis, as a sequence of tensors; x: float32[N, 2]."""
    parts = helper.make_value_info(
        "parts", helper.make_sequence_type_proto(helper.make_tensor_type_proto(T.FLOAT, None))
    )
    return model([node("SplitToSequence", ["x"], ["parts"], axis=0)], [info("x", T.FLOAT, ["N", 2])], [parts])


def branch() -> onnx.ModelProto:
    """y = 2x where the sum of x is positive, else -x: control flow (`If`); x: float32[N]."""
    then = helper.make_graph([node("Add", ["x", "x"], ["t"])], "then", [], [info("t", T.FLOAT, ["N"])])
    other = helper.make_graph([node("Neg", ["x"], ["e"])], "else", [], [info("e", T.FLOAT, ["N"])])
    return model(
        [
            node("ReduceSum", ["x"], ["sum"], keepdims=0),
            node("Greater", ["sum", "zero"], ["positive"]),
            node("If", ["positive"], ["y"], then_branch=then, else_branch=other),
        ],
        [info("x", T.FLOAT, ["N"])],
        [info("y", T.FLOAT, ["N"])],
        {"zero": np.float32(0)},
    )


def counting() -> onnx.ModelProto:
    """y = x after n turns of a loop: int64[] n decides how long that takes; x: float32[1]."""
    body = helper.make_graph(
        [node("Identity", ["go"], ["on"]), node("Identity", ["v"], ["w"])],
        "body",
        [info("i", T.INT64, []), info("go", T.BOOL, []), info("v", T.FLOAT, [1])],
        [info("on", T.BOOL, []), info("w", T.FLOAT, [1])],
    )
    return model(
        [node("Loop", ["n", "", "x"], ["y"], body=body)],
        [info("n", T.INT64, []), info("x", T.FLOAT, [1])],
        [info("y", T.FLOAT, [1])],
    )


def conv(size: int | str = "h", width: int | str = "w", multiple: int = 1) -> onnx.ModelProto:
    """y = conv3x3(x); x: float32[batch, 3, h, w]. Sides that do not divide by `multiple` fail when run."""
    rng = np.random.default_rng(0)
    nodes = [node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1])]
    weights: dict[str, Any] = {"k": rng.standard_normal((8, 3, 3, 3), np.float32)}
    if multiple > 1:
        nodes += [
            node("MaxPool", ["c"], ["p"], kernel_shape=[multiple] * 2, strides=[multiple] * 2),
            node("Resize", ["p", "", "scale"], ["u"], mode="nearest"),
            node("Add", ["u", "c"], ["y"]),
        ]
        weights["scale"] = np.array([1, 1, multiple, multiple], np.float32)
    else:
        nodes.append(node("Relu", ["c"], ["y"]))
    return model(
        nodes,
        [info("x", T.FLOAT, ["batch", 3, size, width])],
        [info("y", T.FLOAT, ["batch", 8, size, width])],
        weights,
    )


def no_input() -> onnx.ModelProto:
    """y = a constant; the model takes nothing."""
    return model(
        [node("Identity", ["w"], ["y"])], [], [info("y", T.FLOAT, [2])], {"w": np.ones(2, np.float32)}
    )


def many_inputs(count: int = 64) -> onnx.ModelProto:
    """y = x0 + x1 + …; each float32[4]."""
    names = [f"x{i}" for i in range(count)]
    return model(
        [node("Sum", names, ["y"])], [info(n, T.FLOAT, [4]) for n in names], [info("y", T.FLOAT, [4])]
    )


def unused_weight() -> onnx.ModelProto:
    """The `add` with a weight that nothing uses: ORT warns about it on stderr."""
    built = add()
    built.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), "unused"))
    return built


def unknown_operator() -> onnx.ModelProto:
    """y = NoSuchOperator(x): a valid file that no runtime can load."""
    return model(
        [node("NoSuchOperator", ["x"], ["y"], domain="example.com")],
        [info("x", T.FLOAT, ["N"])],
        [info("y", T.FLOAT, ["N"])],
    )

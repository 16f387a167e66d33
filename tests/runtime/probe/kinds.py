"""Tiny models, one for each way in which rows, lengths and runs can behave."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import hotlap
from hotlap.plan import Facts
from hotlap.runtime.probe import probe
from tests import tiny
from tests.tiny import T, info, node

F, INT = T.FLOAT, T.INT64


def of_x(
    nodes: list[Any], declared: Any, weights: dict[str, Any] | None = None, x: tuple[Any, ...] = ("N", 4)
) -> onnx.ModelProto:
    """One float input x, one output y of the declared shape."""
    return tiny.model(nodes, [info("x", F, x)], [info("y", F, declared)], weights)


def stuck() -> onnx.ModelProto:
    """Declares any number of rows; a Reshape holds the one that it was exported with."""
    weights = {"w": np.ones((8, 8), np.float32), "s": np.array([1, 2, 4])}
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Reshape", ["a", "s"], ["y"])]
    return of_x(nodes, ["batch", 2, 4], weights, ("batch", 8))


def silently_stuck() -> onnx.ModelProto:
    """Three rows of 8 go in, one of 24 comes out."""
    return of_x([node("Reshape", ["x", "s"], ["y"])], ["batch", 8], {"s": np.array([1, -1])}, ("batch", 8))


def built_for(rows: int) -> onnx.ModelProto:
    """As `stuck`, exported with so many rows."""
    weights = {"s": np.array([rows, 2, 4])}
    return of_x([node("Reshape", ["x", "s"], ["y"])], ["batch", 2, 4], weights, ("batch", 8))


def softmax_over_rows() -> onnx.ModelProto:
    return of_x([node("Softmax", ["x"], ["y"], axis=0)], ["N", 4])


def centred_by_rows() -> onnx.ModelProto:
    """x - mean over the rows: 0 for a row alone and for copies, another number beside strangers."""
    return of_x(
        [node("ReduceMean", ["x"], ["m"], axes=[0], keepdims=1), node("Sub", ["x", "m"], ["y"])], ["N", 4]
    )


def mean_over_rows() -> onnx.ModelProto:
    return of_x([node("ReduceMean", ["x"], ["y"], keepdims=0)], [])


def largest_column() -> onnx.ModelProto:
    """Whole numbers that depend on all rows: where each column has its largest value."""
    nodes = [
        node("ArgMax", ["x"], ["i"], axis=0, keepdims=1),
        node("Shape", ["x"], ["s"]),
        node("Expand", ["i", "s"], ["y"]),
    ]
    return tiny.model(nodes, [info("x", F, ["N", 4])], [info("y", INT, ["N", 4])])


def dynamically_quantised() -> onnx.ModelProto:
    """y = x w in 8 bits, x quantised by the range of the whole batch."""
    w = np.random.default_rng(0).integers(-127, 127, (64, 64)).astype(np.int8)
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        node("MatMulInteger", ["q", "w", "zero"], ["i"]),
        node("Cast", ["i"], ["f"], to=F),
        node("Mul", ["f", "scale"], ["y"]),
    ]
    return of_x(nodes, ["N", 64], {"w": w}, ("N", 64))


def quantised_embedding() -> onnx.ModelProto:
    """As above behind a table: only ids go in, whose other order changes no range."""
    rng = np.random.default_rng(0)
    nodes = [
        node("Gather", ["t", "ids"], ["x"]),
        node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        node("MatMulInteger", ["q", "w", "zero"], ["i"]),
        node("Cast", ["i"], ["f"], to=F),
        node("Mul", ["f", "scale"], ["y"]),
    ]
    weights = {
        "t": rng.standard_normal((100, 16), np.float32),
        "w": rng.integers(-127, 127, (16, 16)).astype(np.int8),
    }
    return tiny.model(nodes, [info("ids", INT, ["B", "L"])], [info("y", F, ["B", "L", 16])], weights)


def where_not_zero() -> onnx.ModelProto:
    return tiny.model([node("NonZero", ["x"], ["y"])], [info("x", F, ["N", 4])], [info("y", INT, [2, "K"])])


def only_loud_rows() -> onnx.ModelProto:
    """Rows whose largest value is above -0.5: as many come out as go in, mostly."""
    nodes = [
        node("ReduceMax", ["x"], ["m"], axes=[1], keepdims=0),
        node("Greater", ["m", "least"], ["c"]),
        node("Compress", ["x", "c"], ["y"], axis=0),
    ]
    return of_x(nodes, ["K", 4], {"least": np.float32(-0.5)})


def reversed_rows() -> onnx.ModelProto:
    """Each row comes out as it went in, at another place."""
    weights = {"a": [-1], "b": [-(2**31)], "c": [0], "d": [-1]}
    return of_x([node("Slice", ["x", "a", "b", "c", "d"], ["y"])], ["N", 4], weights)


def numbered_rows() -> onnx.ModelProto:
    """y = the running sum of ones along the rows, times x: it depends on the place."""
    return of_x([node("CumSum", ["x", "axis"], ["y"])], ["N", 4], {"axis": np.int64(0)})


def compared_rows() -> onnx.ModelProto:
    """y[i, j] = row i times row j."""
    return of_x([node("Transpose", ["x"], ["t"], perm=[1, 0]), node("MatMul", ["x", "t"], ["y"])], ["N", "N"])


def rows_second() -> onnx.ModelProto:
    """y: float32[20, batch, 3] for x: float32[batch, 20, 3]."""
    return of_x([node("Transpose", ["x"], ["y"], perm=[1, 0, 2])], [20, "batch", 3], x=("batch", 20, 3))


def wrongly_declared() -> onnx.ModelProto:
    """As `rows_second`, with the input's shape declared for the output; ONNX Runtime only logs that."""
    made = rows_second()
    made.graph.output[0].CopyFrom(info("y", F, ["batch", "time", 3]))
    made.graph.input[0].CopyFrom(info("x", F, ["batch", "time", 3]))
    return made


def recurrent(x: list[Any], state: list[Any]) -> onnx.ModelProto:
    """The last state of an LSTM: time first, rows second, in x and in the state."""
    rng = np.random.default_rng(0)
    weights = {
        "W": rng.standard_normal((1, 32, 4)).astype(np.float32),
        "R": rng.standard_normal((1, 32, 8)).astype(np.float32),
    }
    return tiny.model(
        [node("LSTM", ["x", "W", "R", "", "", "h"], ["", "last"], hidden_size=8)],
        [info("x", F, x), info("h", F, state)],
        [info("last", F, [1, None, 8])],
        weights,
    )


def random(size: float) -> onnx.ModelProto:
    """y = x + size * noise, drawn anew each time."""
    nodes = [
        node("RandomUniformLike", ["x"], ["r"]),
        node("Mul", ["r", "size"], ["n"]),
        node("Add", ["x", "n"], ["y"]),
    ]
    return of_x(nodes, ["N", 4], {"size": np.float32(size)})


def deaf() -> onnx.ModelProto:
    """y = 3, whatever goes in."""
    return of_x(
        [node("Shape", ["x"], ["s"]), node("Expand", ["c", "s"], ["y"])], ["N", 4], {"c": np.float32(3)}
    )


def nothing_but_nan() -> onnx.ModelProto:
    return of_x([node("Mul", ["x", "c"], ["y"])], ["N", 4], {"c": np.float32(np.nan)})


def one_length() -> onnx.ModelProto:
    """Declares any length; takes 32."""
    return of_x([node("Reshape", ["x", "s"], ["y"])], ["N", 4, 8], {"s": [0, 4, 8]}, ("N", "L"))


def length_becomes_rows() -> onnx.ModelProto:
    """Declares any length; of 64 values it makes two rows of 32."""
    return of_x([node("Reshape", ["x", "s"], ["y"])], ["N", "L"], {"s": [-1, 32]}, ("N", "L"))


def with_past() -> onnx.ModelProto:
    """As decoders have it: the mask is as long as the past and the present together."""
    nodes = [
        node("Concat", ["past", "x"], ["k"], axis=1),
        node("Unsqueeze", ["mask", "two"], ["m"]),
        node("Mul", ["k", "m"], ["km"]),
        node("ReduceSum", ["km", "one"], ["s"], keepdims=1),
        node("Add", ["x", "s"], ["y"]),
    ]
    inputs = [
        info("x", F, ["batch", "S", 4]),
        info("past", F, ["batch", "P", 4]),
        info("mask", F, ["batch", "PS"]),
    ]
    return tiny.model(nodes, inputs, [info("y", F, ["batch", "S", 4])], {"two": [2], "one": [1]})


def past_feed() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "x": rng.standard_normal((1, 3, 4), np.float32),
        "past": rng.standard_normal((1, 7, 4), np.float32),
        "mask": np.ones((1, 10), np.float32),
    }


def mean_of_tokens(masked: bool) -> onnx.ModelProto:
    """y = the mean of the tokens' vectors, of those that the mask keeps or of all."""
    table = np.random.default_rng(0).standard_normal((100, 8), np.float32)
    head = [node("Gather", ["t", "ids"], ["e"]), node("Cast", ["mask"], ["f"], to=F)]
    head += [node("Unsqueeze", ["f", "two"], ["m"]), node("Mul", ["e", "m"], ["em"])]
    tail = [
        node("ReduceSum", ["em", "one"], ["s"], keepdims=0),
        node("ReduceSum", ["f", "one"], ["c"], keepdims=1),
        node("Div", ["s", "c"], ["y"]),
    ]
    all_of_them = [node("ReduceMean", ["e"], ["v"], axes=[1], keepdims=0), node("ReduceMax", ["m"], ["big"])]
    all_of_them += [node("Squeeze", ["big"], ["z"]), node("Mul", ["v", "z"], ["y"])]
    inputs = [info("ids", INT, ["B", "L"]), info("attention_mask", INT, ["B", "L"])]
    for n in head:
        n.input[:] = ["attention_mask" if i == "mask" else i for i in n.input]
    weights = {"t": table, "two": np.array([2]), "one": np.array([1])}
    return tiny.model(head + (tail if masked else all_of_them), inputs, [info("y", F, ["B", 8])], weights)


def facts_of(
    model: onnx.ModelProto,
    folder: Path,
    feed: Mapping[str, Any] | None = None,
    limits: Mapping[str, int] | None = None,
    seconds: float = 60.0,
) -> Facts:
    with hotlap.open(tiny.save(model, folder / "m.onnx"), warm=False, threads=1) as runner:
        return probe(runner, feed=feed, limits=limits, seconds=seconds)

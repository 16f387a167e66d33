"""What each operator makes: compared with ONNX Runtime, at two sizes of the symbol."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.inspect.shapes import shapes
from hotlap.inspect.shaping import reduced
from hotlap.model.walk import Walk
from tests import tiny
from tests.inspect.runs import run

Case = tuple[str, list[str], dict[str, Any], tuple[int | str | None, ...] | None]
CASES: list[Case] = [
    ("Relu", ["x"], {}, ("n", 3, 4, 6)),
    ("Softmax", ["x"], {"axis": 1}, ("n", 3, 4, 6)),
    ("Add", ["x", "row"], {}, ("n", 3, 4, 6)),
    ("Where", ["flag", "x", "row"], {}, ("n", 3, 4, 6)),
    ("MatMul", ["x", "w"], {}, ("n", 3, 4, 5)),
    ("Conv", ["x", "k"], {}, ("n", 8, None, None)),
    ("MaxPool", ["x"], {"kernel_shape": [2, 2]}, ("n", 3, None, None)),
    ("GlobalAveragePool", ["x"], {}, ("n", 3, 1, 1)),
    ("Transpose", ["x"], {"perm": [0, 2, 3, 1]}, ("n", 4, 6, 3)),
    ("Transpose", ["x"], {}, (6, 4, 3, "n")),
    ("Flatten", ["x"], {}, ("n", 72)),
    ("Flatten", ["x"], {"axis": 2}, (None, 24)),
    ("Flatten", ["x"], {"axis": 0}, (1, None)),
    ("Reshape", ["x", "to3"], {}, ("n", 12, 6)),
    ("Unsqueeze", ["x", "ax1"], {}, ("n", 1, 3, 4, 6)),
    ("Concat", ["x", "x"], {"axis": 1}, ("n", 6, 4, 6)),
    ("Split", ["x"], {"axis": 2, "num_outputs": 2}, ("n", 3, None, 6)),
    ("Slice", ["x", "ax1", "two", "ax1"], {}, ("n", None, 4, 6)),
    ("Gather", ["x", "zero"], {"axis": 1}, ("n", 4, 6)),
    ("Gather", ["x", "two"], {"axis": 3}, ("n", 3, 4, 1)),
    ("ReduceMean", ["x", "ax1"], {}, ("n", 1, 4, 6)),
    ("ReduceSum", ["x"], {"keepdims": 0}, ()),
    ("ArgMax", ["x"], {"axis": 1, "keepdims": 0}, ("n", 4, 6)),
    ("Expand", ["x", "to5"], {}, (2, "n", 3, 4, 6)),
    ("Tile", ["x", "twice"], {}, ("n", 3, 8, 6)),
    ("Shape", ["x"], {}, (4,)),
    ("Shape", ["x"], {"start": 1, "end": -1}, (2,)),
    ("Pad", ["x", "pads"], {}, ("n", 3, 4, 8)),
    ("ConstantOfShape", ["two"], {}, (2,)),
    ("InstanceNormalization", ["x", "c3", "c3"], {}, ("n", 3, 4, 6)),
    ("NonZero", ["x"], {}, None),
]
WEIGHTS = {
    "row": np.ones(6, np.float32),
    "flag": np.array(True),
    "w": np.ones((6, 5), np.float32),
    "k": np.ones((8, 3, 2, 2), np.float32),
    "to3": np.array([0, 12, -1]),
    "to5": np.array([2, 1, 3, 4, 6]),
    "ax1": np.array([1]),
    "two": np.array([2]),
    "zero": np.int64(0),
    "twice": np.array([1, 1, 2, 1]),
    "pads": np.array([0, 0, 0, 1, 0, 0, 0, 1]),
    "c3": np.ones(3, np.float32),
}


def model_of(op: str, inputs: list[str], attributes: dict[str, Any]) -> onnx.ModelProto:
    used = {n: w for n, w in WEIGHTS.items() if n in inputs}
    outputs = ["y", "z"] if op == "Split" else ["y"]
    infos = [tiny.info("x", T.FLOAT, ["n", 3, 4, 6])]
    built = tiny.model([tiny.node(op, inputs, outputs, **attributes)], infos, [], used, opset=18)
    for name in outputs:
        built.graph.output.add(name=name)
    return built


@pytest.mark.parametrize(("op", "inputs", "attributes", "expected"), CASES)
def test_as_ort_makes_it(
    op: str, inputs: list[str], attributes: dict[str, Any], expected: tuple[int | str | None, ...] | None
) -> None:
    model = model_of(op, inputs, attributes)
    known = shapes(Walk(model))
    assert known.dims("y") == expected
    assert known.stuck == []
    for size in (1, 3):
        made = run(model, x=np.ones((size, 3, 4, 6), np.float32))[0].shape
        if expected is not None:
            assert len(made) == len(expected)
            said = [size if d == "n" else d for d in expected]
            assert all(s in (None, m) for s, m in zip(said, made, strict=True)), (said, made)


def test_reduced_axes() -> None:
    for inputs, attributes, axes in (
        (["x", "ax1"], {}, {1}),
        (["x"], {}, {0, 1, 2, 3}),
        (["x"], {"noop_with_empty_axes": 1}, set()),
    ):
        walk = Walk(model_of("ReduceMean", inputs, attributes))
        assert reduced(shapes(walk), next(walk.nodes())) == axes

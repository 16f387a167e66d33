"""Element types: against onnx's own inference, on its backend tests and on small graphs of each kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.model.elements import dtype_name, elements
from hotlap.model.walk import Walk
from hotlap.tensors import DTYPES
from tests import tiny

BACKEND = sorted((Path(onnx.__file__).parent / "backend/test/data").rglob("*.onnx"))
_NAMES = {d.onnx: d.name for d in DTYPES}


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "expected"),
    [
        ("Add", ["x", "x"], {}, "float16"),
        ("Cast", ["x"], {"to": T.DOUBLE}, "float64"),
        ("CastLike", ["x", "i"], {}, "int64"),
        ("Shape", ["x"], {}, "int64"),
        ("Greater", ["x", "x"], {}, "bool"),
        ("Gather", ["x", "i"], {}, "float16"),
        ("ConstantOfShape", ["i"], {}, "float32"),
        ("QuantizeLinear", ["x", "s", "z"], {}, "int8"),
        ("QuantizeLinear", ["x", "s"], {}, "uint8"),
        ("DequantizeLinear", ["z", "s", "z"], {}, "float16"),
        ("RandomNormalLike", ["x"], {}, "float16"),
        ("RandomNormal", [], {"shape": [1], "dtype": T.DOUBLE}, "float64"),
        ("Constant", [], {"value_float": 1.0}, "float32"),
        ("Constant", [], {"value": numpy_helper.from_array(np.float64(1))}, "float64"),
        ("NoSuchOperator", ["x"], {}, ""),
        ("Cast", ["x"], {"to": 12345}, ""),
    ],
)
def test_one_operator(op: str, inputs: list[str], attributes: dict[str, object], expected: str) -> None:
    model = tiny.model(
        [tiny.node(op, inputs, ["y"], **attributes)],
        [tiny.info("x", T.FLOAT16, ["N", 4]), tiny.info("i", T.INT64, ["N"])],
        [],
        {"s": np.float16(1), "z": np.int8(0)},
        opset=21,
    )
    walk = Walk(model)
    assert elements(walk).made(next(walk.nodes())) == (expected,)


def test_a_branch_gives_its_type_to_the_node_around_it() -> None:
    model = tiny.branch()
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    walk = Walk(model)
    known = elements(walk)
    [chooser] = walk.nodes("If")
    assert known.made(chooser) == ("float32",)
    [negated] = walk.nodes("Neg")
    assert known.read(negated) == ("float32",)


def test_operators_of_ort_itself() -> None:
    nodes = [
        tiny.node("Gelu", ["x"], ["a"], domain="com.microsoft"),
        tiny.node("EmbedLayerNormalization", ["i"], ["b"], domain="com.microsoft"),
        tiny.node("MatMulIntegerToFloat", ["z", "z", "s", "s"], ["c"], domain="com.microsoft"),
    ]
    model = tiny.model(
        nodes,
        [tiny.info("x", T.FLOAT16, [1]), tiny.info("i", T.INT32, [1])],
        [],
        {"s": np.float16(1), "z": np.int8(0)},
    )
    walk = Walk(model)
    assert [elements(walk).made(n) for n in walk.nodes()] == [("float16",), ("",), ("float16",)]


def test_a_broken_order_or_opset_is_unknown() -> None:
    model = tiny.model(
        [tiny.node("Add", ["later", "later"], ["y"]), tiny.node("Relu", ["x"], ["later"])], [], []
    )
    model.opset_import[0].version = -5
    walk = Walk(model)
    assert [elements(walk).made(n) for n in walk.nodes()] == [("",), ("",)]


def test_a_function_knows_what_its_own_nodes_tell() -> None:
    body = [helper.make_node("Cast", ["a"], ["b"], to=T.DOUBLE), helper.make_node("Exp", ["b"], ["c"])]
    function = helper.make_function("local", "f", ["a"], ["c"], body, [helper.make_opsetid("", 17)])
    model = tiny.model([], [], [])
    model.functions.append(function)
    walk = Walk(model)
    assert [elements(walk).made(n) for n in walk.nodes("Exp")] == [("float64",)]


@pytest.mark.parametrize("path", BACKEND[::4], ids=lambda p: p.parent.name)
def test_agrees_with_onnx(path: Path) -> None:
    inferred = onnx.shape_inference.infer_shapes(onnx.load(path))
    model = onnx.load(path)
    del model.graph.value_info[:]
    walk = Walk(model)
    known = elements(walk)
    for value in inferred.graph.value_info:
        if value.type.HasField("tensor_type"):
            assert known.of(walk.root, value.name) == _NAMES[value.type.tensor_type.elem_type], value.name


def test_types_have_the_names_that_hotlap_uses_everywhere() -> None:
    assert dtype_name(T.FLOAT) == "float32"
    assert dtype_name(T.INT4) == "int4"
    assert dtype_name(T.UNDEFINED) == ""


def test_a_function_is_read_by_its_own_imports() -> None:
    body = [tiny.node("Cast", ["a"], ["d"], to=T.DOUBLE), tiny.node("Gelu", ["d"], ["g"])]
    function = helper.make_function("own", "f", ["a"], ["g"], body, [helper.make_opsetid("", 20)])
    model = tiny.model(
        [tiny.node("f", ["x"], ["y"], domain="own")],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("y", T.DOUBLE, None)],
    )
    model.functions.append(function)
    walk = Walk(model)
    assert elements(walk).of(walk.scopes[-1], "g") == "float64"

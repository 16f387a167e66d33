from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from hotlap.errors import MissingExtra, ModelError
from hotlap.model import shaped as module
from hotlap.model.light import bound, light, open_axes
from hotlap.model.shaped import constant, shape_of, shaped, taken_branch
from tests import tiny


def shapes(model: onnx.ModelProto, **sizes: int) -> dict[str, Any]:
    found = shaped(bound(light(model), open_axes(model), sizes))
    return {o.name: shape_of(o) for node in found.graph.all_nodes() for o in node.outputs}


def test_shapes_at_a_size() -> None:
    assert shapes(tiny.mlp(), batch=5) == {"h": (5, 32), "r": (5, 32), "y": (5, 4)}


def test_small_numbers_are_computed_through_any_chain() -> None:
    """As exporters write ``expand``: the wanted shape, with -1 where the size is to stay."""
    node = helper.make_node
    model = tiny.model(
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "zero"], ["n"]),
            node("Concat", ["n", "six"], ["want"], axis=0),
            node("Shape", ["want"], ["rank"]),
            node("ConstantOfShape", ["rank"], ["ones"], value=helper.make_tensor("", T.INT64, [1], [1])),
            node("Mul", ["ones", "minus"], ["marks"]),
            node("Equal", ["want", "marks"], ["keep"]),
            node("Where", ["keep", "ones", "want"], ["shape"]),
            node("Expand", ["x", "shape"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, ["N", 1])],
        [tiny.info("y", T.FLOAT, None)],
        {"zero": np.array([0]), "six": np.array([6]), "minus": np.array(-1)},
    )
    assert shapes(model, N=3)["y"] == (3, 6)


def test_the_branch_that_sizes_decide_gives_the_shape() -> None:
    node = helper.make_node
    then = helper.make_graph(
        [node("Concat", ["x", "x"], ["t"], axis=0)], "g", [], [tiny.info("t", T.FLOAT, None)]
    )
    other = helper.make_graph([node("Identity", ["x"], ["e"])], "g", [], [tiny.info("e", T.FLOAT, None)])
    model = tiny.model(
        [
            node("Size", ["x"], ["size"]),
            node("Greater", ["size", "ten"], ["many"]),
            node("If", ["many"], ["y"], then_branch=then, else_branch=other),
        ],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("y", T.FLOAT, None)],
        {"ten": np.array(10)},
    )
    assert shapes(model, N=3)["y"] == (3,) and shapes(model, N=11)["y"] == (22,)


def test_a_branch_that_values_decide_is_unknown() -> None:
    found = shaped(bound(light(tiny.branch()), open_axes(tiny.branch()), {"N": 3}))
    (choice,) = (n for n in found.graph if n.op_type == "If")
    assert taken_branch(choice) is None and constant(choice.inputs[0]) is None


def test_functions_are_inlined() -> None:
    body = [helper.make_node("Concat", ["a", "a"], ["b"], axis=0)]
    opset = [helper.make_opsetid("", 17)]
    model = tiny.model(
        [helper.make_node("f", ["x"], ["y"], domain="own")],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("y", T.FLOAT, None)],
    )
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(helper.make_function("own", "f", ["a"], ["b"], body, opset))
    assert list(shapes(model, N=2).values()) == [(4,)]


def test_a_quantised_recurrent_layer_has_the_shapes_of_its_float_sister() -> None:
    model = tiny.model(
        [
            helper.make_node(
                "DynamicQuantizeLSTM", ["x", "w", "r"], ["y"], domain="com.microsoft", hidden_size=8
            )
        ],
        [tiny.info("x", T.FLOAT, ["T", 2, 4])],
        [tiny.info("y", T.FLOAT, None)],
        {"w": np.ones((1, 4, 32), np.int8), "r": np.ones((1, 8, 32), np.int8)},
    )
    assert shapes(model, T=5)["y"] == (5, 1, 2, 8)


def test_a_contradiction_is_a_model_error() -> None:
    model = tiny.model(
        [helper.make_node("Reshape", ["x", "s"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("y", T.FLOAT, None)],
        {"s": np.array([-1, -1])},
    )
    with pytest.raises(ModelError, match=r"its shapes cannot be told: .*-1"):
        shapes(model, N=4)


def test_without_the_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(module.importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r"pip install 'hotlap\[tools\]'"):
        shapes(tiny.add(), N=1)

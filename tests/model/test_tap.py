from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnx import helper

from hotlap.model.tap import inlined, tapped, way_out
from hotlap.model.walk import Walk
from tests import tiny

info, node = tiny.info, tiny.node


def run(model: onnx.ModelProto, feed: dict[str, Any]) -> dict[str, Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feed), strict=True))


def all_values(model: onnx.ModelProto) -> list[tuple[str, str]]:
    return [(s.path, v) for s in Walk(model).scopes for v in s.makers]


def loop() -> onnx.ModelProto:
    """y = x doubled `n` times, inside a Loop; the doubling is an Add of the loop's body."""
    body = helper.make_graph(
        [node("Identity", ["go"], ["on"]), node("Add", ["a", "a"], ["b"])],
        "body",
        [info("i", T.INT64, []), info("go", T.BOOL, []), info("a", T.FLOAT, ["N"])],
        [info("on", T.BOOL, []), info("b", T.FLOAT, ["N"])],
    )
    return tiny.model(
        [node("Loop", ["n", "", "x"], ["y"], body=body, name="again")],
        [info("x", T.FLOAT, ["N"]), info("n", T.INT64, [])],
        [info("y", T.FLOAT, ["N"])],
    )


def test_values_of_the_graph_keep_their_name_and_type() -> None:
    model = tiny.mlp()
    copy, names = tapped(model, [("", "h"), ("", "r"), ("", "y"), ("", "none")])
    assert names == {("", "h"): "h", ("", "r"): "r", ("", "y"): "y"}
    assert [o.name for o in model.graph.output] == ["y"], "the model itself stays"
    given = run(copy, {"x": np.ones((1, 16), np.float32)})
    assert list(given) == ["y", "h", "r"] and given["h"].dtype == np.float32
    assert np.array_equal(np.maximum(given["h"], 0), given["r"])


@pytest.mark.parametrize(("x", "taken", "other"), [([1.0, 2.0], "t", "e"), ([-1.0, -2.0], "e", "t")])
def test_a_branch_gives_its_values_and_the_other_gives_none(x: list[float], taken: str, other: str) -> None:
    model = tiny.branch()
    paths = {v: p for p, v in all_values(model) if p}
    copy, names = tapped(model, [(paths["t"], "t"), (paths["e"], "e")])
    given = run(copy, {"x": np.array(x, np.float32)})
    assert given["y"].tolist() == given[names[paths[taken], taken]].tolist()
    assert given[names[paths[taken], taken]].dtype == np.float64
    assert given[names[paths[other], other]].shape == (0,)


def test_a_loop_gives_a_row_for_each_turn() -> None:
    copy, names = tapped(loop(), all_values(loop()))
    given = run(copy, {"x": np.array([1, 3], np.float32), "n": np.array(3)})
    body = 'Loop "again" / body / '
    assert given["y"].tolist() == [8, 24]
    assert given[names[body, "b"]].tolist() == [[2, 6], [4, 12], [8, 24]]
    assert given[names[body, "on"]].tolist() == [1, 1, 1]


def test_a_scan_gives_a_row_for_each_step() -> None:
    body = helper.make_graph(
        [
            node("Add", ["s", "e"], ["n"]),
            node("Mul", ["n", "n"], ["square"]),
            node("Neg", ["square"], ["out"]),
        ],
        "body",
        [info("s", T.FLOAT, []), info("e", T.FLOAT, [])],
        [info("n", T.FLOAT, []), info("out", T.FLOAT, [])],
    )
    scan = node(
        "Scan", ["zero", "x"], ["last", "y"], body=body, num_scan_inputs=1, scan_output_axes=[0], name="sum"
    )
    model = tiny.model(
        [scan],
        [info("x", T.FLOAT, ["N"])],
        [info("last", T.FLOAT, []), info("y", T.FLOAT, ["N"])],
        {"zero": np.float32(0)},
    )
    copy, names = tapped(model, [('Scan "sum" / body / ', "square")])
    given = run(copy, {"x": np.array([1, 2, 3], np.float32)})
    assert given[names['Scan "sum" / body / ', "square"]].tolist() == [1, 9, 36]


def test_a_value_is_led_out_through_several_nodes() -> None:
    inner = tiny.branch().graph
    then = helper.make_graph(
        list(inner.node), "then", [], [info("y", T.FLOAT, ["N"])], list(inner.initializer)
    )
    other = helper.make_graph([node("Abs", ["x"], ["z"])], "else", [], [info("z", T.FLOAT, ["N"])])
    model = tiny.model(
        [node("If", ["c"], ["out"], then_branch=then, else_branch=other, name="outer")],
        [info("x", T.FLOAT, ["N"]), info("c", T.BOOL, [])],
        [info("out", T.FLOAT, ["N"])],
    )
    values = all_values(model)
    copy, names = tapped(model, values)
    assert set(names) == set(values)
    x = np.array([1, 2], np.float32)
    deep = next(name for (path, value), name in names.items() if value == "t")
    assert run(copy, {"x": x, "c": np.array(True)})[deep].tolist() == [2, 4]
    assert run(copy, {"x": x, "c": np.array(False)})[deep].shape == (0,)


def test_functions_have_no_way_out_until_they_are_unfolded() -> None:
    body = helper.make_function(
        "own", "twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    model = tiny.model(
        [node("twice", ["x"], ["y"], domain="own")], [info("x", T.FLOAT, ["N"])], [info("y", T.FLOAT, ["N"])]
    )
    model.functions.append(body)
    model.opset_import.append(helper.make_opsetid("own", 1))
    assert way_out(Walk(model).scopes[-1]) is None
    flat = inlined(model)
    assert [n.op_type for n in flat.graph.node] == ["Add"] and not flat.functions
    assert inlined(flat) is flat


def test_values_of_two_nodes_with_one_label_are_told_apart() -> None:
    model = tiny.branch()
    again = model.graph.node.add()
    again.CopyFrom(model.graph.node[-2])
    again.output[0] = "z"  # it has no name, and is told by its output; the other has that for a name
    model.graph.node[-2].name = "→ z"
    again.attribute[1].g.node[0].op_type = "Mul"
    model.graph.output.append(info("z", T.FLOAT, ["N"]))
    scopes = [s for s in Walk(model).scopes if "t" in s.makers]
    copy, names = tapped(model, [(s.path, "t") for s in scopes])
    given = run(copy, {"x": np.array([3, 4], np.float32)})
    assert [given[names[s.path, "t"]].tolist() for s in scopes] == [[6, 8], [9, 16]]

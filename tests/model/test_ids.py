from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hotlap.model import ids
from hotlap.model.ids import id_limits
from tests import tiny

TABLE = np.ones((100, 8), np.float32)
IDS = tiny.info("ids", TensorProto.INT64, ["B", "L"])


def limits(nodes: list[onnx.NodeProto], weights: dict[str, Any]) -> dict[str, int]:
    model = tiny.model(nodes, [IDS], [tiny.info("y", TensorProto.FLOAT, None)], weights)
    return id_limits(model, frozenset({"ids"}))


def test_a_table_of_known_size_limits_its_ids_and_nothing_else() -> None:
    assert id_limits(tiny.gather_mask(rows=77), frozenset({"ids", "mask"})) == {"ids": 77}


@pytest.mark.parametrize(
    "between",
    [{"op": "Cast", "to": TensorProto.INT32}, {"op": "Identity"}, {"op": "Flatten"}, {"op": "Transpose"}],
)
def test_ids_are_followed_through_what_only_rearranges_them(between: dict[str, Any]) -> None:
    op = between.pop("op")
    nodes = [tiny.node(op, ["ids"], ["same"], **between), tiny.node("Gather", ["table", "same"], ["y"])]
    assert limits(nodes, {"table": TABLE}) == {"ids": 100}


def test_computed_ids_say_nothing_of_the_input() -> None:
    nodes = [tiny.node("Add", ["ids", "two"], ["more"]), tiny.node("Gather", ["table", "more"], ["y"])]
    assert limits(nodes, {"table": TABLE, "two": np.array(2)}) == {}


def test_the_smallest_of_several_tables_counts_and_the_axis() -> None:
    nodes = [
        tiny.node("Gather", ["table", "ids"], ["a"]),
        tiny.node("Gather", ["table", "ids"], ["y"], axis=-1),
    ]
    assert limits(nodes, {"table": TABLE}) == {"ids": 8}


def test_a_table_may_be_a_constant_or_quantised() -> None:
    constant = tiny.node("Constant", [], ["table"], value=numpy_helper.from_array(TABLE))
    assert limits([constant, tiny.node("Gather", ["table", "ids"], ["y"])], {}) == {"ids": 100}
    quantised = [
        tiny.node("Cast", ["q"], ["f"], to=TensorProto.FLOAT),
        tiny.node("Mul", ["f", "scale"], ["table"]),
        tiny.node("Gather", ["table", "ids"], ["y"]),
    ]
    assert limits(quantised, {"q": TABLE.astype(np.int8), "scale": np.ones(8, np.float32)}) == {"ids": 100}


def test_a_table_that_is_computed_gives_no_limit() -> None:
    nodes = [tiny.node("Relu", ["table"], ["r"]), tiny.node("Gather", ["r", "ids"], ["y"])]
    assert limits(nodes, {"table": TABLE}) == {}


def test_an_axis_that_is_not_there_gives_no_limit() -> None:
    assert limits([tiny.node("Gather", ["table", "ids"], ["y"], axis=7)], {"table": TABLE}) == {}


def test_a_look_up_inside_a_branch_counts() -> None:
    branch = helper.make_graph(
        [tiny.node("Gather", ["table", "ids"], ["e"])], "b", [], [tiny.info("e", TensorProto.FLOAT, None)]
    )
    nodes = [tiny.node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch)]
    assert limits(nodes, {"table": TABLE, "yes": np.array(True)}) == {"ids": 100}


def test_fused_embeddings_count() -> None:
    inputs = ["ids", "", "words", "positions", ""]
    node = tiny.node("EmbedLayerNormalization", inputs, ["y"], domain="com.microsoft")
    assert limits([node], {"words": TABLE, "positions": TABLE}) == {"ids": 100}


def test_an_operator_of_others_by_a_known_name_is_not_looked_at() -> None:
    one = helper.make_node("Gather", ["i"], ["y"], domain="mine")
    few = helper.make_node("Gather", [], [])
    none = helper.make_node("Cast", ["i"], [])
    empty = helper.make_node("Constant", [], [], value=numpy_helper.from_array(np.zeros(1)))
    graph = helper.make_graph([one, few, none, empty], "g", [], [])
    assert id_limits(helper.make_model(graph), frozenset({"i"})) == {}


def test_a_table_that_is_made_of_itself_again_and_again_is_followed_once() -> None:
    class Makers(dict[str, Any]):
        asked = 0

        def get(self, *key: Any) -> Any:
            self.asked += 1
            return super().get(*key)

    nodes = [tiny.node("Add", [f"v{n}"] * 5, [f"v{n + 1}"]) for n in range(7)]
    nodes += [tiny.node("Gather", ["v7", "ids"], ["y"])]
    model = tiny.model(nodes, [IDS], [tiny.info("y", TensorProto.FLOAT, None)], {"v0": TABLE})
    graph = ids._Graph(model)
    graph._makers = makers = Makers(graph._makers)
    assert graph.size("v7", 0) == 100
    assert makers.asked == 7

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from hotlap.model.walk import Scope, Walk
from tests import tiny
from tests.real import real

info, node = tiny.info, tiny.node


def branching() -> onnx.ModelProto:
    """y = if flag: Relu(h) else: Neg(Abs(h)); h = x + w. The else branch has a weight of its own."""
    then = helper.make_graph(
        [node("Relu", ["h"], ["a"], name="relu")], "then", [], [info("a", T.FLOAT, ["N"])]
    )
    own = helper.make_tensor("w2", T.FLOAT, [1], [2.0])
    otherwise = helper.make_graph(
        [node("Abs", ["h"], ["b"]), node("Mul", ["b", "w2"], ["c"])],
        "else",
        [],
        [info("c", T.FLOAT, ["N"])],
        [own],
    )
    return tiny.model(
        [
            node("Add", ["x", "w"], ["h"], name="add"),
            node("If", ["flag"], ["y"], name="if", then_branch=then, else_branch=otherwise),
        ],
        [info("x", T.FLOAT, ["N"]), info("flag", T.BOOL, [])],
        [info("y", T.FLOAT, ["N"])],
        {"w": [1.0]},
    )


def test_every_node_is_met_once_with_its_place() -> None:
    walk = Walk(branching())
    assert [n.label for n in walk.nodes()] == [
        'Add "add"',
        'If "if"',
        'If "if" / else_branch / Abs "→ b"',
        'If "if" / else_branch / Mul "→ c"',
        'If "if" / then_branch / Relu "relu"',
    ]
    assert [n.op for n in walk.nodes("Relu", "Mul")] == ["Mul", "Relu"]
    assert [s.path for s in walk.scopes] == ["", 'If "if" / else_branch / ', 'If "if" / then_branch / ']


def test_an_inner_graph_sees_what_the_graphs_around_it_make() -> None:
    walk = Walk(branching())
    _, otherwise, then = walk.scopes
    maker = walk.maker(then, "h")
    assert maker is not None and maker.label == 'Add "add"'
    assert walk.home(otherwise, "w") is walk.root
    assert walk.home(walk.root, "w2") is None, "what is inside is not seen from outside"
    assert [n.op for n in walk.readers(walk.root, "h")] == ["Abs", "Relu"]
    assert walk.maker(then, "x") is None


def test_a_name_that_an_inner_graph_takes_anew_is_another_value() -> None:
    body = helper.make_graph(
        [node("Identity", ["v"], ["out"])],
        "body",
        [info("i", T.INT64, []), info("c", T.BOOL, []), info("v", T.FLOAT, ["N"])],
        [info("c", T.BOOL, []), info("out", T.FLOAT, ["N"])],
    )
    walk = Walk(
        tiny.model(
            [node("Neg", ["x"], ["v"]), node("Loop", ["n", "", "v"], ["y"], body=body)],
            [info("x", T.FLOAT, ["N"]), info("n", T.INT64, [])],
            [info("y", T.FLOAT, ["N"])],
        )
    )
    assert [n.op for n in walk.readers(walk.root, "v")] == ["Loop"]
    assert walk.maker(walk.scopes[1], "v") is None


def test_what_is_read_twice_counts_twice() -> None:
    walk = Walk(tiny.add())
    assert [n.op for n in walk.readers(walk.root, "x")] == ["Add", "Add"]


def test_outputs_are_seen_from_inside() -> None:
    walk = Walk(branching())
    assert walk.is_output(walk.root, "y")
    assert not walk.is_output(walk.root, "h")
    assert walk.is_output(walk.scopes[2], "a")


def test_constants_are_weights_and_what_constant_nodes_hold_but_not_what_a_caller_may_replace() -> None:
    made = tiny.model(
        [
            node("Constant", [], ["k"], value=helper.make_tensor("k", T.FLOAT, [1], [3.0])),
            node("Constant", [], ["f"], value_float=4.0),
            node("Sum", ["x", "w", "k", "f", "open"], ["y"]),
        ],
        [info("x", T.FLOAT, ["N"]), info("open", T.FLOAT, [1])],
        [info("y", T.FLOAT, ["N"])],
        {"w": [1.0], "open": [2.0]},
    )
    walk = Walk(made)
    assert {v: walk.is_constant(walk.root, v) for v in ("x", "w", "k", "f", "open", "y", "none")} == {
        "x": False, "w": True, "k": True, "f": True, "open": False, "y": False, "none": False,
    }  # fmt: skip
    assert walk.constant(walk.root, "w").name == "w"
    assert list(walk.constant(walk.root, "k").float_data) == [3.0]
    assert walk.constant(walk.root, "f") is None
    assert walk.constant(walk.root, "open") is None


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        ({"axis": 2}, 2),
        ({"axis": [1, 2]}, [1, 2]),
        ({"axis": 0.5}, 0.5),
        ({"axis": "same"}, b"same"),
        ({"axis": ["a", "b"]}, [b"a", b"b"]),
        ({}, "default"),
    ],
)
def test_attributes_come_as_python_values(attributes: dict[str, object], value: object) -> None:
    graph = tiny.model([node("Odd", ["x"], ["y"], domain="mine", **attributes)], [], [])
    (found,) = Walk(graph).nodes()
    assert found.attribute("axis", "default") == value
    assert found.op == "mine.Odd"


def test_functions_are_scopes_that_see_their_own_names_alone() -> None:
    made = branching()
    made.functions.append(
        helper.make_function(
            "mine", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
        )
    )
    walk = Walk(made)
    function = walk.scopes[-1]
    assert function.path == "function Twice / "
    assert walk.home(function, "x") is None
    assert not walk.uses_functions
    made.graph.node.append(node("Twice", ["h"], ["z"], domain="mine"))
    assert Walk(made).uses_functions


def test_the_real_model_with_branches_in_branches() -> None:
    model = onnx.load(real("silero").path)
    walk = Walk(model)
    assert sum(1 for _ in walk.nodes("If")) == 25
    assert len(walk.scopes) == 51


def test_asking_for_every_value_does_not_visit_every_branch_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many, asked = 100, 0
    nodes = []
    for n in range(many):
        branches = {
            f"{side}_branch": helper.make_graph(
                [tiny.node("Neg", ["x"], [f"{side}{n}"])], side, [], [tiny.info(f"{side}{n}", T.FLOAT, [1])]
            )
            for side in ("then", "else")
        }
        nodes.append(tiny.node("If", ["c"], [f"y{n}"], **branches))
    walk = Walk(tiny.model(nodes, [tiny.info("x", T.FLOAT, [1])], [tiny.info("y0", T.FLOAT, [1])]))
    knows = Scope.knows

    def counted(self: Scope, value: str) -> bool:
        nonlocal asked
        asked += 1
        return knows(self, value)

    monkeypatch.setattr(Scope, "knows", counted)
    given = [f"y{n}" for n in range(many) if walk.is_output(walk.root, f"y{n}")]
    assert given == ["y0"]
    assert [len(walk.readers(walk.root, v)) for v in ("x", "y0", "none")] == [2 * many, 0, 0]
    assert asked < 20 * many


def test_no_two_scopes_have_one_path() -> None:
    built = tiny.branch()
    built.graph.node[-1].name = "if"
    again = built.graph.node.add()
    again.CopyFrom(built.graph.node[-2])
    again.output[0] = "z"
    for domain in ("a", "b"):
        built.functions.append(
            helper.make_function(domain, "f", ["a"], ["b"], [tiny.node("Neg", ["a"], ["b"])], [])
        )
    walk = Walk(built)
    assert [s.path for s in walk.scopes] == [
        "",
        'If "if" / else_branch / ',
        'If "if" / then_branch / ',
        'If "if" / else_branch (2) / ',
        'If "if" / then_branch (2) / ',
        "function f / ",
        "function f (2) / ",
    ]
    first, second = walk.root.nodes[-2:]
    assert [s.around for s in walk.scopes] == [None, first, first, second, second, None, None]

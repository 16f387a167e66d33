from __future__ import annotations

import numpy as np

from hotlap.inspect.fusions.graph import Graph
from hotlap.inspect.fusions.pattern import after, before, either, made, other
from hotlap.model.walk import Walk
from tests import tiny
from tests.tiny import T, info, node


def graph() -> Graph:
    """a = relu(x), reshaped twice, then y = a_ + x."""
    return Graph(
        Walk(
            tiny.model(
                [
                    node("Relu", ["x"], ["a"], name="relu"),
                    node("Reshape", ["a", "to"], ["b"], name="first"),
                    node("Reshape", ["b", "to"], ["c"], name="second"),
                    node("Add", ["x", "c"], ["y"], name="add"),
                ],
                [info("x", T.FLOAT, ["n", 4])],
                [info("y", T.FLOAT, None)],
                {"to": np.array([-1, 4])},
            )
        )
    )


def test_a_step_is_found_by_the_input_that_it_makes() -> None:
    found = graph()
    relu, first, _, add = found.steps
    assert made(found, first, 0, "Relu") is relu
    assert made(found, first, 0, "Neg") is None
    assert made(found, first, 7, "Relu") is None
    assert made(found, None, 0, "Relu") is None
    assert either(found, add, "Reshape") is found.steps[2]
    assert other(add, "x") == "c"
    assert other(add, "c") == "x"


def test_shape_operators_are_looked_past_in_both_directions() -> None:
    found = graph()
    relu, first, second, add = found.steps
    backwards = before(found, add, 1, ("Relu",))
    forwards = after(found, relu, "Add")
    assert backwards is not None and forwards is not None
    assert backwards == forwards
    assert (backwards.made, backwards.crossed, backwards.users) == (relu, (first, second), (add,))


def test_nothing_is_found_past_other_operators_or_too_far_away() -> None:
    found = graph()
    relu, *_, add = found.steps
    assert before(found, add, 1, ("Relu",), ()) is None
    assert before(found, add, 0, ("Relu",)) is None
    assert before(found, add, 5, ("Relu",)) is None
    assert after(found, relu, "Add", most=1) is None
    assert after(found, relu, "Mul") is None
    assert after(found, None, "Mul") is None

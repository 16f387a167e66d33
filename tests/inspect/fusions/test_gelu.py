from __future__ import annotations

import numpy as np
import pytest

from hotlap.inspect.fusions import gelu
from tests import tiny
from tests.inspect.fusions import graphs
from tests.inspect.fusions.graphs import kinds, look, ops

WHOLE = graphs.gelu()
STEP, TARGET = graphs.reshape("q", -1, 8)

BLOCKED = {
    "second reader": WHOLE.read("e"),
    "graph output in between": WHOLE.out("p"),
    "non-constant weight": WHOLE.overridable("half"),
    "wrong dtype": WHOLE.of(np.float16),
    "shape operator in between": WHOLE.between("q", "mul_y", STEP, **TARGET),
    "written in another way": graphs.gelu("half first"),
}


@pytest.mark.parametrize("kind", BLOCKED)
def test_the_blocker_is_named(kind: str) -> None:
    found = look(gelu, BLOCKED[kind].model())
    assert kinds(found) == [kind]
    assert found[0].pattern == 'the Gelu around Erf "erf" that makes "y"'
    assert found[0].steps == (6 if kind == "shape operator in between" else 5)


@pytest.mark.parametrize("form", ["half last", "half with x"])
@pytest.mark.parametrize("opset", [9, 17, 20])
def test_without_a_blocker_it_is_fused_and_nothing_is_found(form: str, opset: int) -> None:
    whole = graphs.gelu(form).at(opset)
    assert ops(whole.model()) == {"Gelu": 1}
    assert look(gelu, whole.model()) == []


@pytest.mark.parametrize("value", ["d", "e", "p", "q"])
@pytest.mark.parametrize("form", ["half last", "half with x"])
def test_any_inner_value_that_is_given_out_blocks(form: str, value: str) -> None:
    (found,) = look(gelu, graphs.gelu(form).out(value).model())
    assert found.blockers[0].why == f'the graph gives "{value}" out'


@pytest.mark.parametrize("weight", ["root", "one", "half"])
def test_each_number_must_be_constant(weight: str) -> None:
    (found,) = look(gelu, WHOLE.overridable(weight).model())
    assert (found.blockers[0].kind, found.blockers[0].value) == ("non-constant weight", weight)


@pytest.mark.parametrize(
    ("form", "words"),
    [("half first", 'Mul "mul_q" halves 1 + erf'), ("reciprocal", 'Mul "scale" multiplies by 1/sqrt(2)')],
)
def test_an_order_that_ort_does_not_look_for_is_told_with_the_node(form: str, words: str) -> None:
    (found,) = look(gelu, graphs.gelu(form).model())
    assert found.blockers[0].why.startswith(words)


def test_other_numbers_are_no_gelu() -> None:
    for weight, number in (("root", 1.0), ("one", 2.0), ("half", 0.7)):
        whole = graphs.gelu().out("e")
        whole.weights[weight] = np.array(number, np.float32)
        assert look(gelu, whole.model()) == []


def test_silu_is_a_relative() -> None:
    assert ops(graphs.silu().model()) == {"QuickGelu": 1}
    assert look(gelu, graphs.silu().model()) == []
    (found,) = look(gelu, graphs.silu().out("s").model())
    assert found.pattern == 'Sigmoid "sigmoid" and the product "y"'
    assert kinds([found]) == ["graph output in between"]


def test_a_scaled_sigmoid_is_too_and_any_other_product_is_not() -> None:
    scaled = graphs.silu().between(
        "x", "sigmoid", tiny.node("Mul", ["x", "by"], ["x_"], name="scale"), by=np.array(1.702, np.float32)
    )
    assert ops(scaled.model()) == {"QuickGelu": 1}
    assert kinds(look(gelu, scaled.out("x_").model())) == ["graph output in between"]
    gated = graphs.silu().between("x", "sigmoid", tiny.node("Exp", ["x"], ["x_"]))
    assert look(gelu, gated.out("s").model()) == []

from __future__ import annotations

import numpy as np
import pytest

from hotlap.errors import InputError, ModelError
from hotlap.tensors import TensorSpec
from hotlap.wire import Signature, Wanted
from hotlap.wire.problems import Problems
from tests.wire import made

X, Y = made.spec("x", "float32", ["batch", 16]), made.spec("y", "float32", ["batch", 4])
MAPS = TensorSpec("probabilities", "seq(map(int64,tensor(float)))")


def test_ports_come_in_the_models_order() -> None:
    found = Signature.of([made.spec("b", "int64", ["n"]), made.spec("a", "int64", ["n"])], [Y])
    assert list(found.inputs) == ["b", "a"]


def test_an_input_that_cannot_be_sent_is_the_models_error() -> None:
    with pytest.raises(ModelError, match='input "probabilities" is seq'):
        Signature.of([MAPS], [Y])
    with pytest.raises(ModelError, match="float8_e5m2"):
        Signature.of([made.spec("x", "float8_e5m2", [1])], [Y])


def test_an_optional_input_need_not_be_given() -> None:
    optional = TensorSpec("o", "optional(tensor(int64))", ("n",))
    maps = TensorSpec("m", "optional(seq(tensor(float)))")
    found = Signature.of([X, optional, maps], [Y])
    assert list(found.inputs) == ["x", "o"]
    assert [p.optional for p in found.inputs.values()] == [False, True]


def test_outputs_that_cannot_be_sent_are_left_out_with_the_reason() -> None:
    found = Signature.of([X], [Y, MAPS])
    assert list(found.outputs) == ["y"]
    assert found.unknown_output("probabilities").startswith("seq(map(int64,tensor(float))), which")
    with pytest.raises(ModelError, match="probabilities"):
        Signature.of([X], [MAPS])


@pytest.mark.parametrize(
    ("x", "y", "batchable"),
    [
        (["batch", 3], ["batch", 4], True),
        ([None, 3], ["n"], True),
        ([1, 3], ["batch", 4], False),
        (["batch", 3], [1, 4], False),
        ([], ["batch"], False),
    ],
)
def test_rows_may_be_stacked_where_every_first_axis_is_free(x: list, y: list, batchable: bool) -> None:
    found = Signature.of([made.spec("x", "float32", x)], [made.spec("y", "float32", y)])
    assert found.batchable is batchable


def test_axes_of_one_name_must_be_equal_between_inputs() -> None:
    found = made.floats(a=["n", 2], b=["n"])
    for _ in range(2):
        problems = Problems()
        found.fit_together({"a": (3, 2), "b": (3,)}, problems)
        assert problems.lines == []
        found.fit_together({"a": (3, 2), "b": (4,)}, problems)
        assert problems.lines == ['input "b": axis 0 ("n") has size 4, but "a" axis 0 gave "n" = 3']
    alone = Problems()
    found.fit_together({"b": (4,)}, alone)
    assert alone.lines == []


def test_no_more_than_so_many_combinations_are_remembered() -> None:
    found = made.floats(a=["n", 2], b=["n"])
    for rows in range(2000):
        found.fit_together({"a": (rows, 2), "b": (rows,)}, Problems())
    assert len(found._fitting) == 1024


def test_inputs_without_a_shared_axis_always_fit() -> None:
    problems = Problems()
    made.floats(a=["n"], b=["m"]).fit_together({"a": (3,), "b": (4,)}, problems)
    assert problems.lines == []


def test_unknown_names_get_the_nearest_one() -> None:
    found = Signature.of([made.spec("input_ids", "int64", ["n"])], [Y])
    assert 'did you mean "input_ids"' in found.unknown_input("input_id")
    assert found.unknown_output("z") == "the model has no output of that name; it gives y"


def test_every_output_is_what_a_request_wants_that_names_none() -> None:
    found = Signature.of([X], [Y, made.spec("z", "int64", [1])])
    assert found.all[True] == (Wanted("y", True), Wanted("z", True))
    assert found.wanted("z", False) == Wanted("z")
    assert found.wanted("q", False) is None


@pytest.mark.parametrize("name", made.CARRIED)
def test_shared_memory_holds_the_same_bytes(name: str) -> None:
    found = made.signature(name, 2)
    array = made.values(name, (2, 3))
    data = bytearray(found.packed("y", array))
    assert made.same(found.tensor("x", data, (2, 3)), array)
    assert made.same(found.tensor("x", np.frombuffer(data, np.uint8), (2, 3)), array)
    with pytest.raises(InputError, match='input "x": '):
        found.tensor("x", data[:-1], (2, 3))

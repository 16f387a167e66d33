from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hotlap.runtime.probe.axes import free_axes, is_batch, place_name, resized, row_choices
from hotlap.tensors import TensorSpec


def spec(name: str, *shape: int | str | None) -> TensorSpec:
    return TensorSpec.of(name, "float32", shape)


def feed(**shapes: tuple[int, ...]) -> dict[str, Any]:
    return {n: np.zeros(s, np.float32) for n, s in shapes.items()}


def test_equal_symbols_move_together_and_nameless_axes_alone() -> None:
    inputs = [spec("a", "N", "L", 3), spec("b", "N", None), spec("c", "L")]
    assert free_axes(inputs, feed(a=(1, 8, 3), b=(1, 4), c=(8,))) == {
        "N": (("a", 0), ("b", 0)),
        "L": (("a", 1), ("c", 0)),
        "b[1]": (("b", 1),),
    }


def test_what_has_no_declared_rank_may_move_everywhere() -> None:
    loose = TensorSpec.declared("x", "tensor(float)", None)
    assert free_axes([loose], feed(x=(1, 32))) == {"x[0]": (("x", 0),), "x[1]": (("x", 1),)}
    assert place_name(loose, 1) == "x[1]"


@pytest.mark.parametrize("word", ["batch", "N", "b", "bs", "batch_size", "Batch"])
def test_words_for_rows(word: str) -> None:
    assert is_batch(word)


def test_words_that_are_none() -> None:
    assert not any(is_batch(w) for w in ("sequence", "T", None, 1, ""))


@pytest.mark.parametrize(
    ("inputs", "outputs", "sizes", "choices"),
    [
        # named
        ([spec("x", "T", "batch", 4)], [], {"x": (5, 1, 4)}, [{"x": 1}]),
        (
            [spec("x", "batch", "L"), spec("m", "batch", "L")],
            [],
            {"x": (1, 8), "m": (1, 8)},
            [{"x": 0, "m": 0}],
        ),
        # not named: the first axis, with what has the same size along its own
        (
            [spec("x", None, None), spec("state", 2, None, 128), spec("sr")],
            [],
            {"x": (1, 576), "state": (2, 1, 128), "sr": ()},
            [{"x": 0, "state": 1}, {"x": 0}],
        ),
        # an input of another size is shared; one of fewer axes never moves alone
        ([spec("x", None, 4), spec("z", None, 4)], [], {"x": (1, 4), "z": (9, 4)}, [{"x": 0}]),
        (
            [spec("least", None), spec("x", None, 4)],
            [],
            {"least": (1,), "x": (1, 4)},
            [{"least": 0, "x": 0}, {"x": 0}],
        ),
        # time first by its name, or by what the outputs have
        ([spec("x", "time", "k", 4)], [], {"x": (5, 1, 4)}, [{"x": 1}, {"x": 0}]),
        ([spec("x", "p", "q", 4)], [spec("y", "q", 2)], {"x": (5, 1, 4)}, [{"x": 1}, {"x": 0}]),
        ([spec("x", "p", "q", 4)], [spec("y", "p", "q", 2)], {"x": (5, 1, 4)}, [{"x": 0}]),
        # nothing to move
        ([spec("x", 1, 3, "h", "w")], [], {"x": (1, 3, 8, 8)}, []),
        ([spec("x", 1, "L")], [], {"x": (1, 8)}, []),
        ([spec("x", 4, 4)], [], {"x": (4, 4)}, []),
        # rows cannot lie along two axes of one input
        ([spec("x", "N", "N")], [], {"x": (1, 1)}, []),
    ],
)
def test_where_rows_may_lie(inputs: Any, outputs: Any, sizes: Any, choices: Any) -> None:
    assert row_choices(inputs, outputs, feed(**sizes)) == choices


def test_resizing_cuts_or_repeats() -> None:
    array = np.arange(6).reshape(2, 3)
    assert resized(array, 1, 2).tolist() == [[0, 1], [3, 4]]
    assert resized(array, 1, 5).tolist() == [[0, 1, 2, 0, 1], [3, 4, 5, 3, 4]]
    assert resized(array, 0, 3).tolist() == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hotlap.errors import StorageError
from hotlap.verify.answers import (
    Refused,
    answer_file,
    load_answer,
    named,
    normal,
    parts,
    save_answer,
    save_refusal,
)

numbers = arrays.arrays(
    st.sampled_from([np.float32, np.float64, np.float16, np.int64, np.uint8, np.bool_]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0),
)
values = st.recursive(
    numbers | st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.integers(0, 9) | st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and (a == b or a != a)


@given(st.dictionaries(st.text(max_size=3), values, max_size=3))
def test_an_answer_comes_back_as_it_went(tmp_path_factory: pytest.TempPathFactory, answer: dict) -> None:
    file = answer_file(tmp_path_factory.getbasetemp(), 7)
    save_answer(file, answer)
    assert same(load_answer(file), answer)


def test_text_comes_back_as_unicode_and_odd_floats_as_float32(tmp_path: Path) -> None:
    save_answer(
        tmp_path / "a.npz",
        {
            "words": np.array(["so", "longer"], dtype=object),
            "half": np.array([1.5, 2], dtype=ml_dtypes.bfloat16),
            "scalar": np.float32(0.5),
            "pair": (np.int64(1), "x"),
        },
    )
    back = load_answer(tmp_path / "a.npz")
    assert back["words"].tolist() == ["so", "longer"]
    assert back["half"].dtype == np.float32 and back["half"].tolist() == [1.5, 2]
    assert (back["scalar"], back["pair"]) == (0.5, [1, "x"])


def test_what_is_loaded_is_what_normal_makes(tmp_path: Path) -> None:
    answer = {"t": np.array(["a"], dtype=object), "maps": [{np.int64(0): np.float32(0.25)}], "none": None}
    save_answer(tmp_path / "a.npz", answer)
    assert same(load_answer(tmp_path / "a.npz"), normal(answer))


def test_a_full_disk_is_a_storage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(StorageError, match="no room for the answers: No space left"):
        save_answer(tmp_path / "a.npz", {"y": np.zeros(3)})


def test_a_tensor_is_one_part_of_its_own_shape() -> None:
    form, [(name, array)] = parts("y", np.zeros((2, 3), np.float32))
    assert (form, name, array.shape) == (("float32", (2, 3)), "y", (2, 3))


def test_texts_of_other_lengths_have_the_same_form() -> None:
    assert parts("y", np.array(["a", "b"]))[0] == parts("y", np.array(["abc", "d"]))[0]


def test_maps_with_the_same_keys_become_a_table() -> None:
    form, [(name, table)] = parts("p", [{"a": 0.25, "b": 0.75}, {"a": 0.5, "b": 0.5}])
    assert name == "p" and table.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert form != parts("p", [{"a": 0.25, "c": 0.75}, {"a": 0.5, "c": 0.5}])[0]


def test_a_sequence_becomes_a_flat_array_for_each_kind() -> None:
    form, found = parts("s", [np.zeros((2, 2)), np.arange(3), [np.ones(1)]])
    assert {name: array.tolist() for name, array in found} == {
        "s (floats)": [0, 0, 0, 0, 1],
        "s (integers)": [0, 1, 2],
    }
    assert form != parts("s", [np.zeros((4,)), np.arange(3), [np.ones(1)]])[0]


def single(value: float) -> float:
    """As ONNX Runtime gives a float32 out of a map."""
    return float(np.float32(value))


@pytest.mark.parametrize(
    "value",
    [
        [{"a": single(0.1), "b": single(0.9)}],
        [{"a": single(0.1)}, {"b": single(0.9)}],
        {"a": single(0.1), "b": math.nan, "c": math.inf, "d": 0.0},
        [single(0.1), [single(1e-40)]],
    ],
    ids=["table", "maps", "map", "lists"],
)
def test_numbers_of_python_that_are_float32_are_judged_as_such(value: Any) -> None:
    """Python's floats are float64 whatever the model computed in."""
    form, [(_, array)] = parts("p", value)
    assert array.dtype == np.float32
    (*_, holder) = [value] if isinstance(value, dict) else value
    if isinstance(holder, dict):
        holder[next(iter(holder))] = 0.1
    else:
        holder.append(1e300)
    other, [(_, wide)] = parts("p", value)
    assert wide.dtype == np.float64
    if isinstance(holder, dict):
        assert other == form, "a precision that is read off the numbers is no form"


def test_complex_numbers_are_pairs() -> None:
    _, [(_, array)] = parts("z", np.array([1 + 2j]))
    assert array.tolist() == [[1, 2]]


def test_nothing_has_no_part() -> None:
    assert parts("n", None) == ("nothing", [])


def test_a_refusal_comes_back_as_one(tmp_path: Path) -> None:
    save_refusal(tmp_path / "r.npz", "input x:\nno")
    back = load_answer(tmp_path / "r.npz")
    assert isinstance(back, Refused) and back == {} and back.why == "input x: no"


class Tensor:
    """What torch's tensors look like from outside."""

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.ones(2, np.float32)


def test_what_a_callable_gives_gets_names() -> None:
    assert list(named({"a": 1, 2: [3]}, ())) == ["a", "2"]
    array = np.zeros(2)
    assert named(array, ("y",))["y"] is array
    assert list(named((array, array), ("y",))) == ["y", "output_1"]
    tensor = named([Tensor(), np.float32(2)], ("t", "s"))
    assert tensor["t"].tolist() == [1, 1] and tensor["s"].shape == ()

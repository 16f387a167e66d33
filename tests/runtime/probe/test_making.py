from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.runtime.probe.making import NEIGHBOURS, Rows, constant, is_mask, varied
from hotlap.tensors import TensorSpec

X = TensorSpec.of("x", "float32", ["N", 8])
IDS = TensorSpec.of("ids", "int64", ["N", 8])
MASK = TensorSpec.of("attention_mask", "int64", ["N", 8])


def rows(specs: list[TensorSpec], feed: dict[str, Any], limits: dict[str, int] | None = None) -> Rows:
    return Rows(specs, feed, dict.fromkeys(feed, 0), limits or {})


def test_rows_come_apart_and_together() -> None:
    feed = {"x": np.arange(24, dtype=np.float32).reshape(3, 8)}
    made = rows([X], feed)
    assert made.count == 3
    assert np.array_equal(made.stacked([made.row(n) for n in range(3)])["x"], feed["x"])
    assert np.array_equal((made.other() or {})["x"], feed["x"][1:2])


def test_inputs_without_rows_stay_as_they_are() -> None:
    shared = np.array([1.0, 2.0], np.float32)
    made = Rows(
        [X, TensorSpec.of("z", "float32", [2])], {"x": np.ones((1, 8), np.float32), "z": shared}, {"x": 0}, {}
    )
    assert made.stacked([made.row(0)] * 3)["z"] is shared


def test_neighbours_of_floats_are_what_they_are_called() -> None:
    base = np.random.default_rng(0).standard_normal((1, 8), np.float32)
    made = rows([X], {"x": base})
    found = {kind: made.neighbour(kind) for kind in NEIGHBOURS}
    assert found.pop("short") is None, "there is no mask"
    assert found.pop("marked") is None, "there is no position"
    arrays = {k: (r or {})["x"] for k, r in found.items()}
    assert sorted(arrays["ordinary"].ravel()) == sorted(base.ravel())
    assert np.abs(arrays["loud"]).max() == pytest.approx(50 * np.abs(base).max())
    assert np.abs(arrays["extreme"]).min() >= 1e4
    assert set(np.sign(arrays["extreme"]).ravel()) == {-1, 1}
    assert np.isnan(arrays["nan"]).all() and not arrays["zeros"].any()
    assert all(a.dtype == np.float32 and a.shape == (1, 8) for a in arrays.values())


def test_half_precision_is_not_overflown() -> None:
    spec = TensorSpec.of("x", "float16", ["N", 8])
    made = rows([spec], {"x": np.full((1, 8), 6e4, np.float16)})
    for kind in ("loud", "extreme"):
        assert np.isfinite((made.neighbour(kind) or {})["x"]).all()


def test_ids_stay_ids_and_masks_end_half_way() -> None:
    feed = {"ids": np.array([[3, 7, 7, 2, 9, 1, 1, 4]]), "attention_mask": np.ones((1, 8), np.int64)}
    made = rows([IDS, MASK], feed)
    for kind in NEIGHBOURS:
        row = made.neighbour(kind)
        if kind in ("nan", "marked"):
            assert row is None
            continue
        assert row is not None and set(row["ids"].ravel()) <= {0, *feed["ids"].ravel()}
        kept = [1] * 4 + [0] * 4 if kind == "short" else [1] * 8
        assert row["attention_mask"].ravel().tolist() == kept


@pytest.mark.parametrize(
    ("mask", "short"),
    [
        (np.ones(1, bool), [False]),
        (np.zeros(1, bool), [True]),
        (np.ones((1, 1), np.int64), [0]),
        (np.zeros((1, 2), np.float32), [-1e4, -1e4]),
    ],
)
def test_a_mask_without_a_half_becomes_its_opposite(mask: Any, short: list[Any]) -> None:
    spec = TensorSpec.of("mask", str(mask.dtype), ["N", 2][: mask.ndim])
    row = rows([spec], {"mask": mask}).neighbour("short") or {}
    assert (row["mask"].ravel().tolist(), row["mask"].dtype) == (short, mask.dtype)


def test_positions_and_types_have_a_neighbour_of_their_own() -> None:
    types = TensorSpec.of("token_type_ids", "int64", ["N", 2])
    made = rows([IDS, types], {"ids": np.array([[5, 6]]), "token_type_ids": np.array([[0, 2]])})
    row = made.neighbour("marked") or {}
    assert {n: a.tolist() for n, a in row.items()} == {"ids": [[5, 6]], "token_type_ids": [[1, 0]]}


def test_a_neighbour_of_no_text() -> None:
    spec = TensorSpec.of("t", "string", ["N"])
    row = rows([spec], {"t": np.array(["hello"], object)}).neighbour("zeros") or {}
    assert row["t"].tolist() == [""]


def test_all_known_ids_are_used() -> None:
    made = rows([IDS], {"ids": np.zeros((1, 8), np.int64)}, {"ids": 1000})
    assert (made.neighbour("loud") or {})["ids"].tolist() == [[999] * 8]
    assert len(np.unique((made.other() or {})["ids"])) > 4


def test_a_row_of_which_no_other_can_be_made() -> None:
    made = rows([IDS], {"ids": np.full((1, 8), 5)})
    assert made.other() is None
    assert rows([TensorSpec.of("b", "bool", ["N"])], {"b": np.ones(1, bool)}).other() is None


@given(st.lists(st.integers(0, 30_000), min_size=2, max_size=20), st.integers(0, 5))
def test_varied_ids_are_ones_that_were_seen(ids: list[int], seed: int) -> None:
    array = np.array([ids])
    other = varied(IDS, array, None, seed)
    assert set(other.ravel()) <= {0, 1, *ids}
    assert (varied(IDS, array, 50, seed) < 50).all()


def test_masks_positions_and_types_are_not_varied() -> None:
    for name in ("attention_mask", "position_ids", "token_type_ids"):
        spec = TensorSpec.of(name, "int64", ["N", 8])
        array = np.arange(8)[None]
        assert varied(spec, array, None, 1) is array
        assert constant(spec, array, None) is array
    assert is_mask(MASK) and is_mask(TensorSpec.of("keep", "bool", ["N"])) and not is_mask(IDS)


def test_constant_ids() -> None:
    array = np.array([[4, 2, 9]])
    assert [constant(IDS, array, None, n).tolist() for n in range(4)] == [
        [[9] * 3],
        [[4] * 3],
        [[2] * 3],
        [[2] * 3],
    ]
    assert constant(IDS, array, 90, 1).tolist() == [[45] * 3]
    floats = np.ones((1, 3), np.float32)
    assert constant(X, floats, None) is floats


def test_text_and_equal_floats_are_varied_too() -> None:
    text = TensorSpec.of("t", "string", ["N"])
    assert varied(text, np.array(["hello"], object), None, 1).tolist() != ["hello"]
    assert len(np.unique(varied(X, np.zeros((1, 8), np.float32), None, 1))) == 8

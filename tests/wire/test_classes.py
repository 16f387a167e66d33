from __future__ import annotations

import math

import numpy as np
import pytest

from hotlap.wire.classes import classified
from tests.wire import made


def test_the_highest_come_first_as_the_protocol_writes_them() -> None:
    assert classified(np.array([1.1, 3.3, 0.5, 2.4], np.float32), 2).tolist() == ["3.300000:1", "2.400000:3"]


def test_each_row_is_classified_alone() -> None:
    found = classified(np.array([[1, 5, 10], [7, 2, 3]], np.int64), 2, ["apple", "pear"])
    assert found.tolist() == [["10:2", "5:1:pear"], ["7:0:apple", "3:2"]]


def test_more_axes_are_one_row_of_classes() -> None:
    assert classified(np.arange(8, dtype=np.uint8).reshape(2, 2, 2), 1).tolist() == [["3:3"], ["7:3"]]


def test_no_more_than_there_are() -> None:
    assert classified(np.array([[1.0, 2.0]]), 2**40).tolist() == [["2.000000:1", "1.000000:0"]]
    assert classified(np.empty((2, 0), np.float32), 3).shape == (2, 0)
    assert classified(np.empty((0, 5), np.float32), 3).shape == (0, 3)
    assert classified(np.float32(2).reshape(()), 3).tolist() == ["2.000000:0"]


def test_of_equals_the_first_comes_first_and_nan_last() -> None:
    row = np.array([1, math.nan, 2, 2, -math.inf, math.inf], np.float64)
    assert [c.rpartition(":")[2] for c in classified(row, 6)] == ["5", "2", "3", "0", "1", "4"]


@pytest.mark.parametrize("name", [n for n in made.CARRIED if n not in ("string", "bool")])
def test_every_type_of_number_is_classified(name: str) -> None:
    row = np.array([1, 3, 2]).astype(made.numpy_of(name))
    value = "3.000000" if made.CARRIED[name].is_float else "3"
    assert classified(row, 1).tolist() == [f"{value}:1"]


def test_few_of_many_are_the_same_as_by_sorting_all() -> None:
    row = np.random.default_rng(0).integers(0, 50, 5000).astype(np.float32)
    assert classified(row, 9).tolist() == classified(row, 5000)[:9].tolist()


def test_unsigned_and_lowest_values_keep_their_order() -> None:
    assert classified(np.array([0, 255, 1], np.uint8), 3).tolist() == ["255:1", "1:2", "0:0"]
    low = np.array([-(2**63), 2**63 - 1, 0], np.int64)
    assert [c.rpartition(":")[2] for c in classified(low, 3)] == ["1", "2", "0"]

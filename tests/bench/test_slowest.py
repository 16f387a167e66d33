from __future__ import annotations

import numpy as np
import pytest

from hotlap.bench.slowest import InputTime, describe, input_times, slowest_inputs


def test_inputs_are_ranked_by_their_median_so_that_one_slow_call_is_no_slow_input() -> None:
    feeds = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    latencies = np.array([10, 50, 20, 10, 50, 20, 900, 50, 20]) * 1_000_000
    found = input_times(latencies, feeds)
    assert [one.index for one in found] == [1, 2, 0]
    assert found[0] == InputTime(index=1, calls=3, median_s=0.05, worst_s=0.05)
    assert found[2].worst_s == pytest.approx(0.9)


def test_ten_at_most() -> None:
    assert [one.index for one in input_times(np.arange(30), np.arange(30))] == list(range(29, 19, -1))


def times(*pairs: tuple[int, float]) -> list[InputTime]:
    return [InputTime(index=i, calls=2, median_s=m, worst_s=2 * m) for i, m in pairs]


def test_processes_are_put_together_and_what_was_slow_in_one_alone_is_left_out() -> None:
    feeds = [{"x": np.full(3, n, np.float32)} for n in range(4)]
    found = slowest_inputs(
        [times((2, 0.5), (1, 0.2)), times((2, 0.7), (3, 9.0)), times((2, 0.6), (1, 0.1))], feeds
    )
    assert [(slow.index, slow.calls) for slow in found] == [(2, 6), (1, 4)]
    assert found[0].median_s == pytest.approx(0.6) and found[0].worst_s == pytest.approx(1.4)
    assert found[0].tensors["x"].low == 2


def test_one_input_is_the_slowest_of_nothing() -> None:
    assert slowest_inputs([times((0, 1.0))], [{"x": np.ones(1)}]) == ()
    assert slowest_inputs([], []) == ()


def test_what_can_make_an_array_slow_is_told() -> None:
    array = np.array([1.0, -2.0, 1e-39, -1e-40, 0.0, np.inf, np.nan], np.float32)
    found = describe(array)
    assert (found.shape, found.dtype, found.denormals, found.not_finite) == ((7,), "float32", 2, 2)
    assert (found.low, found.high) == (-2.0, 1.0)


@pytest.mark.parametrize(
    ("array", "span"),
    [
        (np.array([[3, -4]]), (-4.0, 3.0)),
        (np.array([True, False]), (0.0, 1.0)),
        (np.array(["a", "b"]), (None, None)),
        (np.zeros((0, 3), np.float32), (None, None)),
        (np.float16(2), (2.0, 2.0)),
        (np.array([np.nan]), (None, None)),
    ],
)
def test_arrays_of_every_kind(array: np.ndarray, span: tuple[float | None, float | None]) -> None:
    found = describe(array)
    assert (found.low, found.high) == span and found.shape == np.shape(array)
    assert found.denormals == 0


def test_equal_values_have_equal_digests_however_they_lie_in_memory() -> None:
    a = np.arange(12.0).reshape(3, 4)
    assert describe(a).digest == describe(np.asfortranarray(a)).digest != describe(a + 1).digest
    assert len(describe(a).digest) == 16

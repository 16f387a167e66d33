from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.bench.arrivals import constant, load_trace, poisson, replay, save_trace
from hotlap.errors import InputError, UsageError

TRACE = np.array([10.0, 10.5, 10.6, 12.0])  # spans 2 s, and a mean gap of 2/3 s before it starts again


def test_poisson_arrivals_have_exponential_gaps_of_the_mean_that_was_asked_for() -> None:
    times = poisson(200, seconds=100, seed=1)
    gaps = np.diff(times)
    assert len(times) == pytest.approx(20_000, rel=0.03)
    assert gaps.mean() == pytest.approx(1 / 200, rel=0.03)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)
    assert np.mean(gaps > 1 / 200) == pytest.approx(np.exp(-1), abs=0.01)


@given(st.floats(0.5, 500), st.floats(0.05, 5), st.integers(0, 99))
def test_arrivals_ascend_and_stay_within_the_seconds(rate: float, seconds: float, seed: int) -> None:
    for times in (poisson(rate, seconds=seconds, seed=seed), constant(rate, seconds=seconds)):
        assert (np.diff(times) >= 0).all()
        assert not len(times) or (times[0] >= 0 and times[-1] < seconds)


def test_a_count_is_kept_whatever_it_takes() -> None:
    assert len(poisson(5, seconds=0.1, count=1000)) == len(constant(5, seconds=0.1, count=1000)) == 1000


def test_equal_seeds_give_equal_arrivals() -> None:
    assert np.array_equal(poisson(9, seconds=9, seed=(3, 4)), poisson(9, seconds=9, seed=(3, 4)))
    assert not np.array_equal(poisson(9, count=9, seed=(3, 4)), poisson(9, count=9, seed=(3, 5)))


def test_constant_arrivals_are_equally_far_apart_from_the_first_moment() -> None:
    assert constant(4, seconds=1).tolist() == [0, 0.25, 0.5, 0.75]
    assert constant(4, seconds=0.5).tolist() == [0, 0.25]
    assert constant(4, count=3).tolist() == [0, 0.25, 0.5]


def test_each_turn_replays_the_next_stretch_of_a_trace() -> None:
    assert replay(TRACE, seconds=1, turn=0) == pytest.approx([0, 0.5, 0.6])
    assert replay(TRACE, seconds=1, turn=1).size == 0
    assert replay(TRACE, seconds=1, turn=2) == pytest.approx([0, 2 / 3])  # its end, and its start again
    assert replay(TRACE, seconds=3) == pytest.approx([0, 0.5, 0.6, 2, 8 / 3])


def test_stretches_of_a_number_of_requests() -> None:
    assert replay(TRACE, count=2, turn=0) == pytest.approx([0, 0.5])
    assert replay(TRACE, count=2, turn=1) == pytest.approx([0, 1.4])
    assert replay(TRACE, count=3, turn=1) == pytest.approx([0, 2 / 3, 2 / 3 + 0.5])


@given(st.lists(st.floats(0, 20), min_size=2, max_size=30), st.floats(0.3, 7))
def test_a_replay_loses_and_invents_no_request(times: list[float], seconds: float) -> None:
    trace = np.sort(np.round(times, 3))
    turns = [replay(trace, seconds=seconds, turn=n) + n * seconds for n in range(4)]
    whole = replay(trace, seconds=4 * seconds)
    assert np.concatenate(turns) == pytest.approx(whole, abs=1e-6)


def test_a_trace_of_requests_that_all_came_at_once_repeats_each_second() -> None:
    assert replay(np.zeros(3), seconds=1.5).tolist() == [0, 0, 0, 1, 1, 1]


def test_a_saved_trace_is_loaded_from_its_own_start(tmp_path: Path) -> None:
    save_trace(tmp_path / "t.txt", TRACE)
    assert load_trace(tmp_path / "t.txt") == pytest.approx(TRACE - 10)


def test_remarks_and_empty_lines_are_no_arrivals(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("# seconds\n1\n\n 2.5 # the second\n")
    assert load_trace(tmp_path / "t.txt").tolist() == [0, 1.5]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1\nsoon\n", "t.txt, line 2: 'soon' is no number"),
        ("2\n1\n", "never go back"),
        ("1\nnan\n", "finite"),
        ("1\n", "two arrival times or more"),
        ("", "there are 0"),
    ],
)
def test_a_trace_that_is_none_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(InputError, match=told):
        load_trace(tmp_path / "t.txt")


def test_a_missing_trace_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.txt: No such file"):
        load_trace(tmp_path / "none.txt")

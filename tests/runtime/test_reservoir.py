from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.runtime.reservoir import Reservoir


def sample(sizes: list[int], most: int, size: int, seed: int) -> dict[int, int]:
    """Slot to the number of the thing in it, after all of them were offered."""
    reservoir = Reservoir(most, size, random.Random(seed))
    held: dict[int, int] = {}
    for number, one in enumerate(sizes):
        if reservoir.wants_next():
            slot, dropped = reservoir.put(one)
            held[slot] = number
            for gone in dropped:
                del held[gone]
    return held


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(0, 8), st.integers(0, 200), st.integers(0, 99))
def test_neither_bound_is_ever_broken(sizes: list[int], most: int, size: int, seed: int) -> None:
    held = sample(sizes, most, size, seed)
    assert len(held) <= most and sum(sizes[n] for n in held.values()) <= size
    assert all(0 <= slot < most for slot in held)
    if sizes and most and sum(sizes) <= size:
        assert len(held) == min(most, len(sizes))


def test_everything_is_kept_with_the_same_chance() -> None:
    counts = Counter(n for seed in range(3000) for n in sample([1] * 40, 8, 1000, seed).values())
    found = np.array([counts[n] for n in range(40)]) / 3000
    assert found == pytest.approx(np.full(40, 8 / 40), abs=0.035)


def test_so_it_is_where_the_bytes_are_what_runs_out() -> None:
    counts = Counter(n for seed in range(3000) for n in sample([10] * 30, 99, 60, seed).values())
    found = np.array([counts[n] for n in range(30)]) / 3000
    assert found == pytest.approx(np.full(30, 6 / 30), abs=0.035)


def test_a_thing_larger_than_all_room_leaves_nothing() -> None:
    assert sample([5, 5, 99, 5], 4, 20, 0).keys() <= {0, 1, 2, 3}
    assert sample([99], 4, 20, 0) == {}


def test_a_thing_larger_than_all_room_takes_nobody_s_place() -> None:
    assert sample([5, 5, 99, 5], 4, 20, 0).keys() == {0, 1, 2}
    assert set(sample([99, *[1] * 20], 4, 20, 0).values()) and 0 not in sample([99, 1], 4, 20, 0).values()

from __future__ import annotations

import numpy as np
import pytest

from hotlap.serve.inline import ALONE, TOGETHER, Inline, longest
from hotlap.serve.warming import Timed
from hotlap.wire import Region
from tests.serve import made

MODEL = made.served()
MEASURED = [
    Timed({"ids": (1, 32), "mask": (1, 32)}, 512, 10e-6),
    Timed({"ids": (8, 16), "mask": (8, 16)}, 2048, 15e-6),
    Timed({"ids": (64, 32), "mask": (64, 32)}, 32768, 90e-6),
]


def takes(inline: Inline, *shape: int, mask: tuple[int, ...] | None = None) -> bool:
    return inline.takes(made.job(MODEL, {"ids": np.zeros(shape), "mask": np.zeros(mask or shape)}))


def test_the_hop_decides_and_with_one_cpu_a_little_more() -> None:
    assert longest(30e-6, cpus=4) == 30e-6
    assert longest(14e-6, cpus=1) == ALONE
    assert longest(300e-6, cpus=1) == 300e-6


def test_what_is_no_larger_on_any_axis_than_something_short_runs_on_the_loop() -> None:
    inline = Inline(["ids", "mask"], MEASURED, 20e-6)
    assert [takes(inline, 1, n) for n in (1, 32, 33)] == [True, True, False]
    assert takes(inline, 8, 16)
    assert not takes(inline, 2, 17)
    assert not takes(inline, 64, 32)
    assert not takes(inline, 1, 8, mask=(1, 40))
    assert not takes(inline, 8)


def test_shapes_in_shared_memory_count_too() -> None:
    inline = Inline(["ids", "mask"], MEASURED, 20e-6)
    job = made.job(
        MODEL,
        {"mask": np.zeros((1, 40))},
        regions={"ids": Region("r", 0, 8)},
        shapes={"ids": (1, 40)},
    )
    assert not inline.takes(job)


@pytest.mark.parametrize("timed", [[], [Timed({"ids": (1, 32), "mask": (1, 32)}, 512, 50e-6)]])
def test_nothing_measured_or_nothing_short_enough_runs_nowhere_but_in_lanes(timed: list[Timed]) -> None:
    inline = Inline(["ids", "mask"], timed, 20e-6)
    assert not inline
    assert not takes(inline, 1, 1)


def test_so_many_are_taken_up_together_that_the_first_waits_little() -> None:
    def together(seconds: float, *, shared: bool = False) -> int:
        return Inline(["x"], [Timed({"x": (1,)}, 4, seconds)], 1.0).together(shared=shared)

    assert [together(s) for s in (0.0, 3e-6, 29e-6, 99e-6, 200e-6, 0.5)] == [TOGETHER, TOGETHER, 10, 3, 1, 1]
    assert together(200e-6, shared=True) == TOGETHER  # they are one call
    assert Inline(["x"], [], 1.0).together(shared=True) == 1


def test_three_slow_calls_in_a_row_end_it() -> None:
    inline = Inline(["ids", "mask"], MEASURED, 20e-6)
    calls = [1.0, 1.0, 1e-6, 1.0, 1.0, 1.0]
    assert [inline.took(seconds) for seconds in calls] == [True] * 5 + [False]
    assert not takes(inline, 1, 1)


def test_one_that_is_only_a_little_slow_is_no_reason() -> None:
    inline = Inline(["ids", "mask"], MEASURED, 20e-6)
    assert all(inline.took(1e-3) for _ in range(10))


def test_many_shapes_do_not_pile_up() -> None:
    inline = Inline(["ids", "mask"], MEASURED, 20e-6)
    for n in range(3000):
        takes(inline, 1, n)
    assert len(inline._known) <= 1024

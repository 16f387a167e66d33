from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from hotlap.bench import Workload
from hotlap.errors import UsageError


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"seconds": 0}, "seconds must be more than 0"),
        ({"seconds": float("inf")}, "seconds must be more than 0"),
        ({"seconds": float("nan")}, "seconds must be more than 0"),
        ({"warmup": -1}, "warmup must be 0 to 3600"),
        ({"processes": 0}, "processes must be 1 to 1000"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"timeout": 0}, "timeout must be more than 0"),
        ({"gap": -1}, "gap must be 0 to 3600"),
        ({"iterations": 0}, "iterations must be 1 to"),
        ({"concurrency": 0}, "concurrency must be 1 to"),
        ({"arrivals": "poisson"}, "need a rate"),
        ({"arrivals": "constant", "rate": 0}, "need a rate"),
        ({"rate": 5}, "a rate says nothing to closed"),
        ({"arrivals": "trace"}, "need the trace"),
        ({"trace": (0.0, 1.0)}, "a trace needs them"),
        ({"arrivals": "trace", "trace": (0.0,)}, "two arrival times"),
        ({"arrivals": "poisson", "rate": 5, "gap": 1}, "a gap is a pause of a closed loop"),
    ],
)
def test_values_that_make_no_sense_are_named(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Workload(**fields)


def test_a_process_may_take_its_timeout_beyond_what_it_measures() -> None:
    assert Workload(seconds=3, warmup=1, timeout=10).allowance == 18


def test_iterations_take_the_place_of_seconds_and_turns_have_times_of_their_own() -> None:
    one = Workload(arrivals="poisson", rate=100, iterations=50)
    assert len(one.times(0)) == len(one.times(1)) == 50
    assert one.times(0).tolist() == one.times(0).tolist() != one.times(1).tolist()
    assert Workload(arrivals="constant", rate=10, seconds=0.5).times(0).tolist() == pytest.approx(
        [0, 0.1, 0.2, 0.3, 0.4]
    )
    trace = Workload(arrivals="trace", trace=(0.0, 0.1, 0.9), seconds=0.5)
    assert trace.times(0).tolist() == [0, 0.1] and trace.times(1).tolist() == pytest.approx([0.4])


def test_an_open_loop_in_which_nothing_comes_is_told() -> None:
    with pytest.raises(UsageError, match="no request comes within 1 s"):
        Workload(arrivals="trace", trace=(0.0, 0.1, 60.0), seconds=1).times(1)
    with pytest.raises(UsageError, match="closed loop"):
        Workload().times(0)


def test_numbers_of_numpy_are_taken_and_saved_as_plain_ones() -> None:
    given = Workload(arrivals="trace", trace=np.array([0.0, 1.5]), seconds=np.float64(2))  # type: ignore[arg-type]
    plain = Workload(arrivals="trace", trace=(0.0, 1.5), seconds=2)
    assert given == plain
    assert msgspec.json.decode(msgspec.json.encode(given), type=Workload) == plain


@pytest.mark.parametrize(
    "how",
    [
        {"seconds": 1e300},
        {"warmup": 1e300},
        {"gap": 1e300},
        {"processes": 10**9},
        {"timeout": float("inf")},
        {"iterations": 10**9},
        {"concurrency": 10**9},
    ],
)
def test_more_than_any_machine_has_is_refused(how: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(how))} must be"):
        Workload(**how)  # type: ignore[arg-type]


def test_more_requests_than_memory_holds_are_refused() -> None:
    with pytest.raises(UsageError, match=r"a rate of 1e\+300 for 0.8 s is more than 10000000 requests"):
        Workload(arrivals="poisson", rate=1e300)
    assert Workload(arrivals="constant", rate=1e9, iterations=4).times(0).size == 4

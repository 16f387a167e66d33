from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.bench.result import pack
from tests.bench.results import process


@given(st.lists(st.integers(0, 2**62), min_size=1))
def test_every_latency_comes_back(latencies: list[int]) -> None:
    packed = process(samples=pack(np.array(latencies, dtype=np.int64)))
    assert packed.latencies_ns.tolist() == latencies


def test_a_process_tells_percentiles_and_cpu_time_for_each_request() -> None:
    one = process(samples=pack(np.arange(1, 102, dtype=np.int64) * 1_000_000), calls=101, cpu_s=2.02)
    assert one.percentile(50) == pytest.approx(0.051)
    assert one.percentile(95) == pytest.approx(0.096)
    assert one.cpu_per_call == pytest.approx(0.02)


def test_disturbance_is_other_work_and_steal_together_or_unknown() -> None:
    assert process(foreign=0.03, steal=0.04).disturbance == pytest.approx(0.07)
    assert process(foreign=0.03, steal=None).disturbance == pytest.approx(0.03)
    assert process(foreign=None, steal=None).disturbance is None


def test_the_services_of_an_open_loop_are_apart_and_those_of_a_closed_loop_its_latencies() -> None:
    assert process(0.01, calls=3).services_ns.tolist() == [10_000_000] * 3
    assert process(0.01, calls=1, services=pack(np.array([7], np.int64))).services_ns.tolist() == [7]

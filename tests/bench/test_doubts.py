from __future__ import annotations

import numpy as np
import pytest

from hotlap.bench.doubts import (
    comparison_doubts,
    disturbed_share,
    is_disturbed,
    measurement_doubts,
    overload_doubt,
    void_doubt,
)
from hotlap.bench.result import ProcessResult, pack
from hotlap.bench.stats import Ratio
from hotlap.bench.workload import Workload
from tests.bench.results import measurement, process

CALM = [process(0.01 * (1 + n / 1000), order=n) for n in range(12)]


def doubts_of(processes: list[ProcessResult]) -> str:
    return " | ".join(measurement_doubts(processes))


def test_a_calm_run_leaves_no_doubt() -> None:
    assert measurement_doubts(CALM) == ()


def test_few_calls_in_a_process() -> None:
    assert "only 7 calls in a process" in doubts_of([*CALM, process(calls=7)])


def test_inputs_that_no_process_got_to() -> None:
    assert "a process got through 50 of 64 inputs only" in doubts_of([*CALM, process(feeds=64)])
    assert doubts_of([*CALM, process(feeds=50)]) == ""


def test_few_processes() -> None:
    assert "only 3 processes a side" in doubts_of(CALM[:3])


def test_other_work_and_the_hypervisor() -> None:
    noisy = [process(foreign=0.3), process(foreign=0.02, steal=0.04), *CALM]
    assert "other work took more than 5 % of the CPUs in 2 of 14 processes (up to 30 %)" in doubts_of(noisy)
    assert disturbed_share(noisy) == pytest.approx(2 / 14)


def test_what_nobody_can_tell_is_no_disturbance_but_a_doubt() -> None:
    blind = [process(foreign=None, steal=None) for _ in range(12)]
    assert not is_disturbed(blind[0])
    assert "is unknown" in doubts_of(blind)


def test_throttling() -> None:
    assert "the CPU quota throttled 1 of 13 processes" in doubts_of([*CALM, process(throttled=3)])


@pytest.mark.parametrize(("step", "word"), [(0.02, "slower"), (-0.02, "faster")])
def test_drift_between_the_first_and_the_last_third(step: float, word: str) -> None:
    drifting = [process(0.01 * (1 + step * n), order=n) for n in range(12)]
    assert f"{word} than the first" in doubts_of(
        list(reversed(drifting))
    )  # by their order, not by their place


def test_two_modes() -> None:
    groups = [process(0.01 * (1 + n / 500) * (1.4 if n % 2 else 1), order=n) for n in range(12)]
    found = doubts_of(groups)
    assert "two groups: 6 around 10.1 ms, 6 around 14.2 ms" in found


def test_one_slow_process_is_no_second_mode() -> None:
    assert "two groups" not in doubts_of([*CALM, process(0.025, order=12)])


def test_an_even_spread_is_no_second_mode() -> None:
    even = [process(p, order=n) for n, p in enumerate(np.tile(np.linspace(0.01, 0.02, 6), 2))]
    assert "two groups" not in doubts_of(even)


def test_a_doubt_about_one_side_names_it_and_one_about_both_does_not() -> None:
    calm = measurement([0.01] * 12)
    noisy = measurement([0.01] * 12, processes=tuple(process(order=n, throttled=1) for n in range(12)))
    ratio = Ratio(1.0, 0.999, 1.001)
    assert comparison_doubts(calm, noisy, ratio) == ("candidate: the CPU quota throttled 12 of 12 processes",)
    assert comparison_doubts(noisy, noisy, ratio) == ("the CPU quota throttled 12 of 12 processes",)


def test_noise_larger_than_the_difference() -> None:
    calm = measurement([0.01] * 12)
    assert any("noise is larger" in d for d in comparison_doubts(calm, calm, Ratio(1.02, 0.93, 1.12)))
    assert comparison_doubts(calm, calm, Ratio(1.5, 1.4, 1.6)) == ()


def test_sides_that_were_not_measured_alike() -> None:
    a = measurement([0.01] * 12)
    b = measurement([0.01] * 12, machine={"cpu": "other"}, workload=Workload(seconds=2))
    told = " | ".join(comparison_doubts(a, b, Ratio(1, 0.999, 1.001)))
    assert "different machines: cpu differ" in told and "different workloads" in told


def test_steal_is_told_apart_from_other_work() -> None:
    told = doubts_of([*CALM, process(steal=0.03)])
    assert "the hypervisor gave CPU time to other machines (steal, up to 3 % in a process)" in told
    assert "steal" not in doubts_of([*CALM, process(steal=0.005)])


def test_context_switches_that_most_processes_had() -> None:
    busy = [process(order=n, switches=100, wall_s=0.5) for n in range(12)]
    assert "had to wait for a CPU 200 times a second (involuntary context switches)" in doubts_of(busy)
    assert doubts_of([*CALM, process(switches=100, wall_s=0.5)]) == ""


def test_a_machine_whose_own_speed_changed() -> None:
    changed = [process(order=n, overhead_s=3.6e-7 if n == 7 else 2e-7) for n in range(12)]
    assert "an empty loop took up to 1.8 times as long in one as in another" in doubts_of(changed)
    assert doubts_of([process(order=n, overhead_s=2e-7 * (1 + n / 40)) for n in range(12)]) == ""
    assert doubts_of([process(order=n, overhead_s=None) for n in range(12)]) == ""


def test_a_frequency_that_changed_and_one_that_nobody_knows() -> None:
    changed = [process(order=n, mhz=3000 - 30 * n) for n in range(12)]
    assert "frequency changed between processes: 2,670 to 3,000 MHz" in doubts_of(changed)
    assert doubts_of([process(order=n, mhz=3000 - n) for n in range(12)]) == ""
    assert doubts_of([process(order=n, mhz=None) for n in range(12)]) == ""


def test_a_harness_that_is_late_for_an_open_loop() -> None:
    late = [process(0.001, order=n, late_s=0.0002) for n in range(12)]
    assert "calls began 200 µs late although a caller was free, which is 20 % of p50" in doubts_of(late)
    assert doubts_of([process(0.01, order=n, late_s=0.0002) for n in range(12)]) == ""


def test_an_open_loop_that_does_not_keep_up() -> None:
    def at(wall_s: float) -> str:
        busy = tuple(
            process(0.01, services=pack(np.full(50, 10_000_000, np.int64)), wall_s=wall_s) for _ in range(12)
        )
        opened = Workload(arrivals="poisson", rate=1000)
        return overload_doubt(measurement([0.01], processes=busy, workload=opened))

    assert at(0.505).startswith("it does not keep up: its callers were busy for 99 % of the time")
    assert at(0.7) == ""
    assert overload_doubt(measurement([0.01] * 12)) == ""


def test_a_run_is_void_when_more_than_half_of_it_was_disturbed() -> None:
    loud = [process(foreign=0.2) for _ in range(7)]
    assert void_doubt([*loud, *CALM[:5]]).startswith("void: other work disturbed 58 % of the processes")
    assert void_doubt([*loud, *CALM[:7]]) == ""

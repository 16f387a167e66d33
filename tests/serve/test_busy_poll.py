from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hotlap.cpus import cpu_budget
from hotlap.serve import busy_poll
from hotlap.serve.busy_poll import SPAN, BusyPoll, usual_span
from hotlap.serve.serving import Server
from tests.machine import trees
from tests.serve.made import served


class Loop:
    """Stands in for an event loop: `turn` is one time round, at the time that is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ns = 0
        self.soon: list[Callable[[], None]] = []
        monkeypatch.setattr(busy_poll, "perf_counter_ns", lambda: self.ns)

    def call_soon(self, function: Callable[[], None]) -> None:
        self.soon.append(function)

    def turn(self, ns: int) -> bool:
        """Returns whether the loop would sleep afterwards."""
        self.ns = ns
        soon, self.soon = self.soon, []
        for function in soon:
            function()
        return not self.soon


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


def polling(loop: Any, span: float = 100e-6, busy: Callable[[], bool] = lambda: False) -> BusyPoll:
    found = BusyPoll(span, busy)
    found.start(loop)
    return found


def test_it_is_awake_for_the_span_after_each_answer(loop: Loop) -> None:
    one = polling(loop)
    one.answered()
    assert not loop.turn(99_999)
    one.answered()
    assert len(loop.soon) == 1, "there is one look in each turn"
    assert not loop.turn(199_998)
    assert loop.turn(199_999)


def test_it_passes_over_twice_as_many_answers_each_time_that_nothing_came(loop: Loop) -> None:
    one = polling(loop)
    tries = []
    for number in range(5_000):
        one.answered()
        if loop.soon:
            tries.append(number)
        loop.turn(loop.ns + 200_000)
    passed_over = [b - a - 1 for a, b in itertools.pairwise(tries)]
    assert passed_over == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024]


def test_a_request_that_came_while_it_looked_counts_for_it(loop: Loop) -> None:
    one = polling(loop)
    for _ in range(4):  # in vain: now it passes over
        one.answered()
        loop.turn(loop.ns + 200_000)
    while not loop.soon:
        one.answered()
    assert not loop.turn(loop.ns + 1)
    one.answered()
    assert loop.turn(loop.ns + 200_000)
    for _ in range(2):  # it was not in vain, then once
        one.answered()
        assert not loop.soon
    one.answered()
    assert loop.soon


def test_it_never_looks_while_requests_are_computed(loop: Loop) -> None:
    inside = 1
    one = polling(loop, busy=lambda: inside > 0)
    one.answered()
    assert loop.turn(1), "the CPU may be the lane's"
    inside = 0
    one.answered()
    assert loop.soon


def test_answers_of_one_turn_do_not_count_for_it(loop: Loop) -> None:
    one = polling(loop)
    tries = 0
    for _ in range(5_000):
        one.answered()
        one.answered()
        tries += bool(loop.soon)
        loop.turn(loop.ns + 200_000)
    assert tries < 20


def test_what_was_computed_before_the_answer_does_not_count_for_it(loop: Loop) -> None:
    inside = 0
    one = polling(loop, busy=lambda: inside > 0)
    tries = 0
    for number in range(5_000):
        inside = number % 2  # half of the answers are written while another request is long computed
        one.answered()
        tries += bool(loop.soon and not inside)
        loop.turn(loop.ns + 200_000)
    assert tries < 20


def test_a_request_that_went_to_a_lane_while_it_looked_counts_for_it(loop: Loop) -> None:
    inside = 0
    one = polling(loop, busy=lambda: inside > 0)
    for _ in range(2):  # in vain: now it passes over
        one.answered()
        loop.turn(loop.ns + 200_000)
    while not loop.soon:
        one.answered()
    for _ in range(100):
        assert loop.soon
        assert not loop.turn(loop.ns + 10_000)
        inside = 1
        assert loop.turn(loop.ns + 10_000), "the CPU may be the lane's"
        inside = 0
        one.answered()


def test_without_a_span_it_never_looks(loop: Loop) -> None:
    one = polling(loop, 0.0)
    one.answered()
    assert not loop.soon


def test_before_the_start_nothing_happens() -> None:
    BusyPoll(1.0, lambda: False).answered()


def test_a_real_loop_goes_round_and_then_sleeps() -> None:
    async def main() -> tuple[int, int]:
        loop = asyncio.get_running_loop()
        selector: Any = loop._selector  # type: ignore[attr-defined]
        waits: list[float | None] = []
        select = selector.select
        selector.select = lambda timeout: (waits.append(timeout), select(timeout))[1]
        one = polling(loop, 0.02)
        one.answered()
        await asyncio.sleep(0.1)
        return waits.count(0), sum(w is None or w > 0 for w in waits)

    looked, slept = asyncio.run(main())
    assert looked > 10
    assert 1 <= slept < 10


@pytest.mark.parametrize(
    ("record", "span"),
    [
        (trees.kubernetes_v1, 0.0),  # 0.5 CPUs
        (trees.systemd_slice, 0.0),  # 1.5
        (trees.docker_v2, SPAN),  # 2
        (trees.no_quota, SPAN),
    ],
)
def test_under_a_small_quota_it_looks_only_where_that_is_asked_for(
    record: Callable[[Path], Path], span: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = cpu_budget(record(tmp_path))
    monkeypatch.setattr(busy_poll, "cpu_budget", lambda root: budget)
    assert usual_span() == span
    for given, taken in ((None, span), (0.0, 0.0), (200e-6, 200e-6)):
        with contextlib.closing(Server([served()], busy_poll=given)) as server:
            assert server._front.busy_poll._span == int(taken * 1e9)

from __future__ import annotations

import asyncio
import logging
import re
from time import perf_counter_ns
from typing import Any

import numpy as np
import pytest

from hotlap.plan import Facts
from hotlap.serve.batch import Call
from hotlap.serve.inline import TOGETHER
from hotlap.serve.job import Job
from hotlap.serve.pays import Curve, Pays
from hotlap.serve.served import Served
from hotlap.serve.track import Load, Track
from tests.serve import made

Told = list[tuple[Call | None, list[Job]]]


def track(model: Served, told: Told | None = None) -> Track:
    told = [] if told is None else told
    return Track(model, lambda served, call, late: told.append((call, late)))


def test_it_measures_decides_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        model = made.served(made.fake(latency=lambda feed: 0.003), lanes=2, max_batch=8, inline=None)
        model.ready = False
        one = track(model)
        with caplog.at_level(logging.INFO, "hotlap.serve"):
            await one.start(hop=20e-6)
        assert model.ready
        # A call takes as long for eight rows as for one: as many go together as were measured. A lane tells
        # that a call is over before it is free.
        await made.until(lambda: one.load().busy == 0)
        assert one.load() == Load(waiting=0, nbytes=0, busy=0, lanes=2, inline=False, batch=8)
        said = re.search(r"m is ready: ([\d,]+) µs.*the hop 20 µs; lanes: 2; up to 8 rows share", caplog.text)
        assert said and int(said[1].replace(",", "")) >= 3000
        await one.close(20)
        assert not model.ready

    made.run(main)


def test_rows_that_cost_as_much_together_go_one_by_one() -> None:
    async def main() -> None:
        model = made.served(made.fake(latency=lambda feed: 0.003 * len(feed["x"])), max_batch=8)
        one = track(model)
        await one.start(hop=20e-6)
        assert one.load().batch == 1
        await one.close(20)

    made.run(main)


def test_dependent_rows_are_never_put_together(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        facts = Facts(rows="dependent", why="y moves", axes=made.INDEPENDENT.axes)
        one = track(made.served(made.fake(latency=0.003), facts=facts, max_batch=8))
        with caplog.at_level(logging.INFO, "hotlap.serve"):
            await one.start(hop=20e-6)
        job = made.job(one.served)
        one.put(job)
        assert (job.rows, job.key) == (0, None)
        await made.until(lambda: one.load().waiting == 0)
        await one.close(20)

    made.run(main)
    assert "no batches: its rows are not known to be independent (dependent: y moves)" in caplog.text


def test_jobs_get_rows_and_a_key_where_batches_pay() -> None:
    async def main() -> None:
        one = track(made.served())
        await one.start(hop=0.0)
        one._pays = Pays(Curve(16, {1: 1.0, 2: 1.0}))
        job = made.job(one.served, made.rows(1, 2, 3))
        one.put(job)
        assert job.rows == 3 and job.key is not None
        await one.close(20)

    made.run(main)


@pytest.mark.parametrize(("latency", "inline"), [(0.0, True), (0.02, False)])
def test_what_is_shorter_than_the_hop_runs_on_the_loop(latency: float, inline: bool) -> None:
    async def main() -> None:
        one = track(made.served(made.fake(latency=latency), inline=None))
        await one.start(hop=0.01)
        assert one.load().inline is inline
        assert one.takes_inline(made.job(one.served)) is inline
        await one.close(20)

    made.run(main)


def test_calls_that_become_slow_leave_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        runner: Any = made.fake()
        one = track(made.served(runner, inline=True))
        await one.start(hop=1.0)
        runner._latency = 0.05
        for _ in range(3):
            assert one.takes_inline(made.job(one.served))
            assert isinstance(one.run_here(made.job(one.served), perf_counter_ns()), dict)
        assert not one.takes_inline(made.job(one.served))
        await one.close(20)

    made.run(main)
    assert "calls on the event loop became slow" in caplog.text


@pytest.mark.parametrize(
    ("most", "inline", "together", "said"),
    [
        (8, True, TOGETHER, "calls run on the event loop; up to 8 rows share a call"),
        (
            1,
            True,
            1,
            "calls run on the event loop; no batches: they would not pay",
        ),  # 3 ms each is long to wait
        (8, False, 1, "lanes: 1; up to 8 rows share a call"),
    ],
)
def test_calls_on_the_loop_are_taken_up_together_where_rows_pay(
    most: int, inline: bool, together: int, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        one = track(made.served(made.fake(latency=0.003), inline=inline, max_batch=most))
        with caplog.at_level(logging.INFO, "hotlap.serve"):
            await one.start(hop=20e-6)
        assert one.served.together == together
        await one.close(20)

    made.run(main)
    assert said in caplog.text


def test_jobs_run_together_here_have_calls_of_powers_of_two() -> None:
    async def main() -> None:
        one = track(made.served(inline=True))
        await one.start(hop=1.0)
        one._pays = Pays(Curve(16, {1: 1.0, 8: 1.0}))
        jobs = [made.job(one.served, made.rows(float(n), float(n))) for n in range(3)]
        jobs += [made.job(one.served, made.rows(*map(float, range(9)))), made.job(one.served)]
        for job in jobs:
            job.rows, job.key = one.describe(job)
        left, calls = list(jobs), []
        while left:
            calls.append(one.run_together(left))
        # 16 rows wait: eight pay. Nine of one job are not torn, and what is left is one.
        assert [[j.rows for j in call.jobs] for call in calls] == [[2, 2, 2], [9], [1]]
        assert [call.together for call in calls] == [True, False, False]
        outcomes = [o for call in calls for o in call.outcomes]
        for job, outcome in zip(jobs, outcomes, strict=True):
            assert isinstance(outcome, dict)
            np.testing.assert_array_equal(outcome["y"], job.request.feed["x"] * 2)
        assert all(0 < call.started <= call.computed for call in calls)
        await one.close(20)

    made.run(main)


def test_shared_calls_that_become_slow_end_the_sharing() -> None:
    async def main() -> None:
        runner: Any = made.fake()
        one = track(made.served(runner, inline=True))
        await one.start(hop=1.0)
        one._pays = Pays(Curve(16, {1: 1.0, 2: 1.0}))
        one.served.together = 8
        runner._latency = 0.05
        for left in (True, True, False):
            jobs = [made.job(one.served) for _ in range(2)]
            for job in jobs:
                job.rows, job.key = one.describe(job)
            assert one.run_together(jobs).together and not jobs
            assert (one.served.together > 1) is left
        await one.close(20)

    made.run(main)


@pytest.mark.parametrize(("latency", "stoppable"), [(0.0, False), (0.01, True)])
def test_only_calls_that_take_a_while_can_be_stopped(latency: float, stoppable: bool) -> None:
    async def main() -> None:
        told: Told = []
        one = track(made.served(made.fake(latency=latency)), told)
        await one.start(hop=0.0)
        one.put(made.job(one.served))
        await made.until(lambda: bool(told))
        call = told[0][0]
        assert call is not None and (call.cancel is not None) is stoppable
        await one.close(20)

    made.run(main)


def test_a_model_with_a_loop_has_a_lane_and_can_always_be_stopped() -> None:
    async def main() -> None:
        told: Told = []
        served = made.served(made.fake(), inline=None)
        served.loops = True
        one = track(served, told)
        await one.start(hop=1.0)
        assert not one.takes_inline(made.job(served))
        one.put(made.job(served))
        await made.until(lambda: bool(told))
        call = told[0][0]
        assert call is not None and call.cancel is not None
        await one.close(20)

    made.run(main)


def test_a_lane_that_does_not_end_is_left_to_itself(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        gated = made.Gated()
        gated.open = True
        model = made.served(made.fake(gated))
        one = track(model)
        await one.start(hop=0.0)
        gated.open = False
        one.put(made.job(model))
        assert await asyncio.to_thread(gated.begun.acquire)
        assert one.load().busy == 1
        await one.close(0.01)
        gated.go.release()
        assert one.lanes.join(20)
        model.runner.close()

    made.run(main)
    assert "a call did not end within 0.01 s" in caplog.text

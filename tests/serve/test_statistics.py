"""What is counted of requests and of calls."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from hotlap.errors import (
    Cancelled,
    DeadlineExceeded,
    Draining,
    InputError,
    ModelError,
    NotReady,
    Overloaded,
    TooLarge,
)
from hotlap.plan import Facts
from hotlap.runtime import FakeRunner
from hotlap.serve.batch import Call
from hotlap.serve.job import Job, Timeline
from hotlap.serve.served import Served
from hotlap.serve.statistics import OUTCOMES, Statistics, outcome_of
from hotlap.serve.status import Malformed, Unknown
from hotlap.tensors import TensorSpec
from hotlap.wire import InferRequest

X = TensorSpec.of("x", "float32", ["n", 2])
MODEL = Served(name="m", runner=FakeRunner([X], [X]), facts=Facts(axes={"x": 0}))


def job(rows: int = 0, feed_rows: int | None = None, model: Served = MODEL, **more: Any) -> Job:
    feed = {} if feed_rows is None else {"x": np.zeros((feed_rows, 2), np.float32)}
    return Job(model, InferRequest(feed=feed), lambda job: None, rows=rows, **more)


def counts(statistics: Statistics) -> dict[str, int]:
    return {outcome: s.count for outcome, s in statistics.requests.items() if s.count}


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "ok"),
        (InputError("x"), "invalid"),
        (TooLarge("x"), "invalid"),
        (Unknown("x"), "invalid"),
        (Malformed("x"), "invalid"),
        (Overloaded("x"), "refused"),
        (NotReady("x"), "refused"),
        (Draining("x"), "refused"),
        (DeadlineExceeded("x"), "late"),
        (Cancelled("x"), "dropped"),
        (ModelError("x"), "failed"),
        (ZeroDivisionError(), "failed"),
    ],
)
def test_every_end_has_its_outcome(error: BaseException | None, outcome: str) -> None:
    assert outcome_of(error) == outcome
    assert outcome in OUTCOMES


def test_an_answer_is_counted_in_its_four_parts() -> None:
    statistics = Statistics()
    before = time.time_ns() // 1_000_000
    at = time.perf_counter_ns()
    statistics.answered(
        Timeline(arrived=at + 100, decoded=at + 110, started=at + 140, computed=at + 1140), at + 1145
    )
    parts = (statistics.parse, statistics.queue, statistics.compute, statistics.encode)
    assert [(s.count, s.ns) for s in parts] == [(1, 10), (1, 30), (1, 1000), (1, 5)]
    assert statistics.requests["ok"].ns == 1045
    assert counts(statistics) == {"ok": 1}
    assert before <= statistics.last_inference <= time.time_ns() // 1_000_000


def test_many_answers_are_counted_as_well_as_one_and_whenever_somebody_looks() -> None:
    statistics = Statistics()
    for n in range(1, 1001):
        statistics.answered(Timeline(arrived=0, decoded=n, started=3 * n, computed=6 * n), 10 * n)
        if n % 7 == 0:
            assert statistics.encode.count == n
    total = sum(range(1001))
    for part, times in {"parse": 1, "queue": 2, "compute": 3, "encode": 4}.items():
        counted = getattr(statistics, part)
        assert (counted.count, counted.ns) == (1000, times * total)
    assert (statistics.requests["ok"].counts[0], statistics.requests["ok"].ns) == (1000, 10 * total)


def test_jobs_that_are_over_without_an_answer_are_counted_by_why() -> None:
    statistics = Statistics()
    now = time.perf_counter_ns()
    statistics.observe(job(error=DeadlineExceeded("x"), timeline=Timeline(arrived=now - 5_000_000)))
    statistics.observe(job(error=ValueError("x"), timeline=Timeline(arrived=now)))
    statistics.observe(job(dropped=True, timeline=Timeline(arrived=now)))
    statistics.observe(job(dropped=True, error=ValueError("x"), timeline=Timeline(arrived=now)))
    statistics.observe(job(outputs={}))
    assert counts(statistics) == {"late": 1, "failed": 1, "dropped": 2}
    assert statistics.requests["late"].ns >= 5_000_000


def test_requests_that_never_became_a_job_are_counted_too() -> None:
    statistics = Statistics()
    statistics.refused(InputError("x"), time.perf_counter_ns() - 1000)
    statistics.refused(Overloaded("x"), time.perf_counter_ns())
    assert counts(statistics) == {"invalid": 1, "refused": 1}
    assert statistics.requests["invalid"].ns >= 1000


def test_a_shared_call_counts_once_with_all_of_its_rows() -> None:
    statistics = Statistics()
    call = Call([job(2), job(3)], outcomes=[{}, {}], started=100, computed=700, together=True)
    statistics.executed(call)
    statistics.executed(call)
    assert (statistics.inference_count, statistics.execution_count) == (10, 2)
    calls = statistics.calls[5]
    assert (calls.jobs, calls.count, calls.ns) == (4, 2, 1200)


def test_jobs_that_were_run_alone_count_each_and_failures_not_at_all() -> None:
    statistics = Statistics()
    jobs = [job(feed_rows=4), job(feed_rows=4), job(feed_rows=7)]
    statistics.executed(Call(jobs, outcomes=[{}, ValueError(), {}], started=0, computed=300))
    assert (statistics.inference_count, statistics.execution_count) == (11, 2)
    assert {rows: (c.count, c.ns) for rows, c in statistics.calls.items()} == {4: (1, 100), 7: (1, 100)}


def test_a_job_that_was_run_alone_counts_with_its_rows_and_its_time() -> None:
    statistics = Statistics()
    statistics.alone(job(feed_rows=4, timeline=Timeline(started=100, computed=350)))
    assert (statistics.inference_count, statistics.execution_count) == (4, 1)
    assert (statistics.calls[4].jobs, statistics.calls[4].count, statistics.calls[4].ns) == (1, 1, 250)


def test_a_request_without_an_axis_of_rows_counts_as_one() -> None:
    statistics = Statistics()
    plain = Served(name="m", runner=MODEL.runner)
    statistics.executed(Call([job(feed_rows=9, model=plain)], outcomes=[{}]))
    statistics.executed(Call([job()], outcomes=[{}]))  # its input lies in shared memory
    assert (statistics.inference_count, statistics.execution_count) == (2, 2)


def test_clients_cannot_make_the_numbers_of_rows_grow_without_end() -> None:
    statistics = Statistics()
    for rows in range(1, 1001):
        statistics.executed(Call([job(rows)], outcomes=[{}]))
    assert len(statistics.calls) == 64
    assert (statistics.execution_count, statistics.inference_count) == (1000, 500500)


def test_a_scalar_of_a_model_of_any_rank_counts_as_one_row() -> None:
    statistics = Statistics()
    any_rank = TensorSpec("x", "tensor(float)", (), ranked=False)
    model = Served(name="m", runner=FakeRunner([any_rank], [X]), facts=Facts(axes={"x": 0}))
    scalar = Job(model, InferRequest(feed={"x": np.array(1, np.float32)}), lambda job: None)
    statistics.executed(Call([scalar], outcomes=[{}], started=1, computed=2))
    assert (statistics.inference_count, statistics.execution_count) == (1, 1)

from __future__ import annotations

import threading
from queue import Queue
from typing import Any

import pytest

from hotlap.errors import Overloaded
from hotlap.serve.batch import Call
from hotlap.serve.job import Job
from hotlap.serve.lanes import Lanes
from hotlap.serve.scheduler import Scheduler
from tests.serve import made

MODEL = made.served()


class Bench:
    """Lanes whose calls wait until they are let go; what they settle is put into a queue."""

    def __init__(self, lanes: int, requests: int = 100, pays: int = 100) -> None:
        self.settled: Queue[tuple[Call | None, list[Job]]] = Queue()
        self.begun: Queue[Call] = Queue()
        self.go = threading.Semaphore(0)
        self.listens = True
        queue: Scheduler[Job] = Scheduler(
            requests=requests, nbytes=10**6, pays=lambda rows, nbytes: min(rows, pays)
        )
        self.lanes = Lanes("m", queue, Call, self._settled)
        for _ in range(lanes):
            self.lanes.add(lambda: self._run).result(20)

    def _run(self, call: Call) -> None:
        self.begun.put(call)
        assert self.go.acquire(timeout=20)

    def _settled(self, call: Call | None, late: list[Job]) -> bool:
        self.settled.put((call, late))
        return self.listens

    def begin(self) -> list[Job]:
        return self.begun.get(timeout=20).jobs

    def end(self, calls: int = 1) -> None:
        for _ in range(calls):
            self.go.release()

    def close(self) -> None:
        self.lanes.close()
        self.end(100)
        assert self.lanes.join(20)


def jobs(count: int, key: Any = "x", **more: Any) -> list[Job]:
    made_ = [made.job(MODEL, **more) for _ in range(count)]
    for job in made_:
        job.rows, job.key = 1, key
    return made_


def test_a_free_lane_takes_a_job_at_once_and_what_waits_meanwhile_goes_together() -> None:
    bench = Bench(1)
    first, *rest = jobs(4)
    bench.lanes.put(first)
    assert bench.begin() == [first]
    for job in rest:
        bench.lanes.put(job)
    assert bench.lanes.waiting == (3, 48)
    assert bench.lanes.busy == (1, 1)
    bench.end()
    assert bench.begin() == rest
    assert all(job.call is not None and job.call.jobs == rest for job in rest)
    bench.close()
    assert [call.jobs for call, _ in (bench.settled.get(timeout=20) for _ in range(2)) if call] == [
        [first],
        rest,
    ]


def test_lanes_run_at_the_same_time() -> None:
    bench = Bench(3)
    several = jobs(3, key=None)
    for job in several:
        bench.lanes.put(job)
    assert {bench.begin()[0] for _ in several} == set(several)
    assert bench.lanes.busy == (3, 3)
    bench.close()


def test_a_lane_leaves_their_share_to_the_others() -> None:
    bench = Bench(2)
    first, second, *rest = jobs(6)
    bench.lanes.put(first)
    bench.lanes.put(second)
    running = [bench.begin() for _ in range(2)]
    assert sorted(map(len, running)) == [1, 1]
    for job in rest:
        bench.lanes.put(job)
    bench.end()
    assert bench.begin() == rest[:2]
    bench.end()
    assert bench.begin() == rest[2:3]
    bench.close()


def test_a_job_that_waits_can_be_taken_out_one_that_runs_cannot() -> None:
    bench = Bench(1)
    first, second = jobs(2)
    bench.lanes.put(first)
    bench.begin()
    bench.lanes.put(second)
    assert bench.lanes.remove(second)
    assert not bench.lanes.remove(first)
    assert bench.lanes.waiting == (0, 0)
    bench.close()
    assert bench.settled.qsize() == 1


def test_late_jobs_are_told_and_not_run() -> None:
    bench = Bench(1)
    first, late, last = jobs(3, key=None)
    late.deadline = 0.0
    bench.lanes.put(first)
    bench.begin()
    bench.lanes.put(late)
    bench.lanes.put(last)
    bench.end()
    assert bench.begin() == [last]
    bench.settled.get(timeout=20)
    assert bench.settled.get(timeout=20) == (None, [late])
    bench.close()


def test_a_full_queue_refuses() -> None:
    bench = Bench(1, requests=1)
    first, second, third = jobs(3)
    bench.lanes.put(first)
    bench.begin()
    bench.lanes.check(16)
    bench.lanes.put(second)
    for refused in (lambda: bench.lanes.put(third), lambda: bench.lanes.check(16)):
        with pytest.raises(Overloaded):
            refused()
    bench.close()


@pytest.mark.parametrize("error", [ValueError("1"), SystemExit(1), KeyboardInterrupt(), MemoryError()])
def test_a_lane_outlives_whatever_happens_in_it(error: BaseException) -> None:
    settled: Queue[Call | None] = Queue()
    errors: list[BaseException] = [error]

    def run(call: Call) -> None:
        if errors:
            raise errors.pop()
        call.outcomes = [{} for _ in call.jobs]

    def told(call: Call | None, late: list[Job]) -> bool:
        settled.put(call)
        return True

    lanes = Lanes("m", Scheduler(requests=9, nbytes=999), Call, told)
    lanes.add(lambda: run).result(20)
    outcomes = []
    for job in jobs(2):
        lanes.put(job)
        call = settled.get(timeout=20)
        assert call is not None
        outcomes += call.outcomes
    assert outcomes == [error, {}]
    lanes.close()
    assert lanes.join(20)


def test_a_lane_that_cannot_be_prepared_says_why() -> None:
    lanes = Lanes("m", Scheduler(requests=9, nbytes=999), Call, lambda call, late: True)

    def broken() -> Any:
        raise ValueError("no model")

    with pytest.raises(ValueError, match="no model"):
        lanes.add(broken).result(20)
    assert lanes.join(20)


def test_a_lane_ends_when_nobody_listens_any_more() -> None:
    bench = Bench(1)
    bench.listens = False
    bench.lanes.put(jobs(1)[0])
    bench.begin()
    bench.end()
    assert bench.lanes.join(20)


def test_lanes_are_closed_after_the_calls_that_they_run() -> None:
    bench = Bench(2)
    first, waits = jobs(2, key=None)
    bench.lanes.put(first)
    bench.begin()
    bench.lanes.close()
    assert not bench.lanes.join(0.01)
    bench.end()
    assert bench.lanes.join(20)
    assert bench.settled.get(timeout=20)[0] is first.call
    bench.lanes.put(waits)
    assert bench.lanes.waiting[0] == 1, "nobody takes it any more"


def test_many_jobs_from_one_side_all_come_out_at_the_other() -> None:
    done: list[Job] = []
    lock = threading.Lock()

    def told(call: Call | None, late: list[Job]) -> bool:
        assert call is not None
        with lock:
            done.extend(call.jobs)
        return True

    lanes = Lanes("m", Scheduler(requests=10**6, nbytes=10**9, pays=lambda r, n: min(r, 7)), Call, told)
    for _ in range(4):
        lanes.add(lambda: lambda call: None).result(20)
    several = jobs(3000)
    for job in several:
        lanes.put(job)
    finished = threading.Event()
    for _ in range(2000):
        with lock:
            if len(done) == len(several):
                break
        finished.wait(0.01)
    assert len(done) == len(set(done)) == len(several)
    lanes.close()
    assert lanes.join(20)


def test_who_no_longer_waits_for_a_lane_does_not_make_it_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    begun, go = threading.Event(), threading.Event()

    def prepare() -> Any:
        begun.set()
        assert go.wait(20)
        return lambda call: None

    lanes = Lanes("m", Scheduler(requests=1, nbytes=1), Call, lambda call, late: True)
    ready = lanes.add(prepare)
    assert begun.wait(20)
    ready.cancel()
    go.set()
    lanes.close()
    assert lanes.join(20)
    assert failed == [] and ready.done()

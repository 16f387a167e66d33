from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import pytest

import hotlap
from hotlap.errors import Cancelled, DeadlineExceeded, Draining, NotReady, Overloaded, UsageError
from hotlap.plan import Facts
from hotlap.runtime import FakeRunner
from hotlap.serve.engine import Engine
from hotlap.serve.job import Job
from hotlap.serve.pays import Curve, Pays
from hotlap.serve.served import Served
from hotlap.serve.statistics import Statistics
from tests import tiny
from tests.serve import made


@asynccontextmanager
async def started(*models: Served) -> Any:
    """An engine whose models' scripted answers come at once while they are warmed."""
    answers = [a for m in models if isinstance(a := getattr(m.runner, "_answer", None), made.Gated)]
    for answer in answers:
        answer.open = True
    engine = Engine(models)
    await engine.start()
    for model in models:
        if isinstance(model.runner, FakeRunner):
            model.runner.calls.clear()
    for answer in answers:
        answer.open = False
    try:
        yield engine
    finally:
        for answer in answers:
            answer.open = True
            for _ in range(50):
                answer.go.release()
        await engine.close()


def batching(model: Served, engine: Engine, most: int = 100) -> None:
    """As if measuring had shown that any number of rows pays."""
    track = engine._tracks[model]
    track._pays = type("All", (), {"most": most})()  # type: ignore[assignment]
    track._queue.pays = lambda rows, nbytes: min(rows, most)


class Desk:
    """Collects jobs that are over."""

    def __init__(self, model: Served) -> None:
        self.model, self.over = model, []

    def job(self, *args: Any, **more: Any) -> Job:
        return made.job(self.model, *args, done=self.done, **more)

    def done(self, job: Job) -> None:
        assert threading.current_thread() is threading.main_thread()
        assert job.over and not job.dropped and (job.outputs is None) != (job.error is None)
        assert job not in self.over, "told once"
        self.over.append(job)

    async def all(self, count: int) -> None:
        await made.until(lambda: len(self.over) == count)


def values(jobs: list[Job]) -> list[Any]:
    return [j.error if j.outputs is None else float(j.outputs["y"][0, 0]) for j in jobs]


def test_a_job_is_run_and_told_on_the_loops_thread() -> None:
    async def main() -> None:
        model = made.served()
        desk = Desk(model)
        async with started(model) as engine:
            job = desk.job(made.rows(3))
            engine.submit(job)
            assert not job.over and engine.inside == 1
            await desk.all(1)
            assert values([job]) == [6.0]
            assert 0 < job.timeline.started <= job.timeline.computed
            assert engine.inside == 0
            assert (model.statistics.inference_count, model.statistics.execution_count) == (1, 1)

    made.run(main)


def test_a_short_call_is_over_before_submit_returns() -> None:
    async def main() -> None:
        model = made.served(inline=True)
        desk = Desk(model)
        async with started(model) as engine:
            job = desk.job(made.rows(3))
            engine.submit(job)
            assert desk.over == [job] and values([job]) == [6.0]
            assert engine.load(model).inline and engine.inside == 0
            assert 0 < job.timeline.started <= job.timeline.computed
            assert (model.statistics.inference_count, model.statistics.execution_count) == (1, 1)
            big = desk.job(np.zeros((100, 4), np.float32))
            engine.submit(big)
            assert not big.over, "larger than anything that was measured: not on the loop"
            await desk.all(2)

    made.run(main)


def test_a_call_that_fails_on_the_loop_is_told_as_well() -> None:
    async def main() -> None:
        runner = made.fake()
        model = made.served(runner, inline=True)
        desk = Desk(model)
        async with started(model) as engine:
            runner._failures[0] = error = ValueError("broken")
            engine.submit(desk.job())
            engine.submit(desk.job())
            assert values(desk.over) == [error, 2.0]
            assert model.statistics.execution_count == 1

    made.run(main)


def test_what_waits_when_a_lane_becomes_free_goes_as_one_batch() -> None:
    async def main() -> None:
        gated = made.Gated()
        model = made.served(made.fake(gated))
        desk = Desk(model)
        async with started(model) as engine:
            batching(model, engine)
            engine.submit(desk.job(made.rows(0)))
            assert await asyncio.to_thread(gated.begun.acquire)
            for value in range(1, 5):
                engine.submit(desk.job(made.rows(value)))
            assert (engine.load(model).waiting, engine.load(model).nbytes) == (4, 64)
            gated.go.release()
            gated.go.release()
            await desk.all(5)
            assert values(desk.over) == [0, 2, 4, 6, 8]
            assert [j.batch for j in desk.over] == [1, 4, 4, 4, 4]
            assert (model.statistics.inference_count, model.statistics.execution_count) == (5, 2)

    made.run(main)


def test_one_poisonous_request_fails_alone() -> None:
    def answer(feed: dict[str, Any]) -> Any:
        if (feed["x"] == 13).any():
            raise ValueError("13")
        return made.doubled(feed)

    async def main() -> None:
        gated = made.Gated(answer)
        model = made.served(made.fake(gated))
        desk = Desk(model)
        async with started(model) as engine:
            batching(model, engine)
            engine.submit(desk.job(made.rows(0)))
            assert await asyncio.to_thread(gated.begun.acquire)
            for value in (1, 13, 2):
                engine.submit(desk.job(made.rows(value)))
            for _ in range(5):
                gated.go.release()
            await desk.all(4)
            assert [v if isinstance(v, float) else str(v) for v in values(desk.over)] == [0, 2, "13", 4]
            assert [j.batch for j in desk.over] == [1, 1, 1, 1]

    made.run(main)


def test_a_model_that_tears_rows_is_batched_no_more(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        gated = made.Gated(lambda feed: {"y": feed["x"][:1] * 2})
        model = made.served(made.fake(gated))
        desk = Desk(model)
        async with started(model) as engine:
            batching(model, engine)
            for round_ in range(2):
                engine.submit(desk.job(made.rows(0)))
                assert await asyncio.to_thread(gated.begun.acquire)
                for value in (1, 2, 3):
                    engine.submit(desk.job(made.rows(value)))
                for _ in range(5):
                    gated.go.release()
                await desk.all(4 * (round_ + 1))
                for _ in range(4):
                    await asyncio.to_thread(gated.begun.acquire, timeout=1)
            assert values(desk.over) == [0, 2, 4, 6] * 2
            runner: Any = model.runner
            assert [len(c["x"]) for c in runner.calls] == [1, 3, 1, 1, 1, 1, 1, 1, 1]
            assert engine.load(model).batch == 1

    made.run(main)
    assert caplog.text.count("its requests share no call any more") == 1


def test_a_dropped_job_is_not_run_and_nobody_is_told() -> None:
    async def main() -> None:
        gated = made.Gated()
        model = made.served(made.fake(gated))
        desk = Desk(model)
        async with started(model) as engine:
            first, gone, last = (desk.job(made.rows(v)) for v in (1, 2, 3))
            engine.submit(first)
            assert await asyncio.to_thread(gated.begun.acquire)
            engine.submit(gone)
            engine.submit(last)
            engine.drop(gone)
            engine.drop(gone)
            assert engine.inside == 2 and engine.load(model).waiting == 1
            gated.go.release()
            gated.go.release()
            await desk.all(2)
            assert desk.over == [first, last]
            runner: Any = model.runner
            assert [float(c["x"][0, 0]) for c in runner.calls] == [1, 3]
            engine.drop(first)
            assert not first.dropped, "it was over"

    made.run(main)


class Stoppable:
    """A runner's latency that ends when the call is taken back."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.stopped = threading.Event()

    def runner(self) -> FakeRunner:
        outer = self

        class Fake(FakeRunner):
            slow = False

            def _call(self, names: Any, arrays: Any, limits: Any) -> Any:
                if not self.slow:
                    return super()._call(names, arrays, limits)
                outer.begun.release()
                for _ in range(4000):
                    if limits.cancel is not None and limits.cancel.cancelled:
                        outer.stopped.set()
                        raise Cancelled("taken back")
                    outer.stopped.wait(0.005)
                return super()._call(names, arrays, limits)

        return Fake([made.X], [made.Y], answer=made.doubled, latency=0.002)


@pytest.mark.parametrize("how", ["dropped", "late"])
def test_a_call_is_stopped_when_nobody_waits_for_it(how: str) -> None:
    async def main() -> None:
        stoppable = Stoppable()
        runner: Any = stoppable.runner()
        model = made.served(runner)
        desk = Desk(model)
        async with started(model) as engine:
            runner.slow = True
            job = desk.job(deadline=perf_counter() + 0.1 if how == "late" else None)
            engine.submit(job)
            assert await asyncio.to_thread(stoppable.begun.acquire)
            if how == "dropped":
                engine.drop(job)
            else:
                await desk.all(1)
                assert isinstance(job.error, DeadlineExceeded)
            await made.until(stoppable.stopped.is_set)
            runner.slow = False
            engine.submit(desk.job(made.rows(4)))
            await made.until(lambda: bool(desk.over) and desk.over[-1].outputs is not None)
            assert values(desk.over[-1:]) == [8.0]

    made.run(main)


def test_a_deadline_is_told_while_the_only_lane_is_busy() -> None:
    async def main() -> None:
        gated = made.Gated()
        model = made.served(made.fake(gated))
        desk = Desk(model)
        async with started(model) as engine:
            running = desk.job(made.rows(1), deadline=perf_counter() + 0.05)
            waiting = desk.job(made.rows(2), timeout=0.05)
            patient = desk.job(made.rows(3), timeout=60.0)
            engine.submit(running)
            assert await asyncio.to_thread(gated.begun.acquire)
            engine.submit(waiting)
            engine.submit(patient)
            await desk.all(2)
            said = {str(j.error) for j in desk.over}
            assert said == {
                "the deadline passed while the request ran",
                "the deadline passed while the request waited for its turn",
            }
            assert perf_counter() >= (waiting.deadline or 0), "not before its time"
            gated.go.release()
            gated.go.release()
            await desk.all(3)
            assert values(desk.over[2:]) == [6.0]
            runner: Any = model.runner
            assert [float(c["x"][0, 0]) for c in runner.calls] == [1, 3], "what is late is not run"
            assert engine.inside == 0

    made.run(main)


def test_a_timer_that_fires_early_is_set_again() -> None:
    async def main() -> None:
        gated = made.Gated()
        model = made.served(made.fake(gated))
        desk = Desk(model)
        async with started(model) as engine:
            job = desk.job(deadline=perf_counter() + 0.05)
            engine.submit(job)
            engine._time_is_up(job)
            assert not job.over
            await desk.all(1)
            assert isinstance(job.error, DeadlineExceeded) and perf_counter() >= (job.deadline or 0)

    made.run(main)


def test_a_deadline_that_has_passed_is_refused() -> None:
    async def main() -> None:
        model = made.served(inline=True)
        async with started(model) as engine:
            with pytest.raises(DeadlineExceeded, match="before the request was accepted"):
                engine.submit(made.job(model, deadline=perf_counter() - 1))
            assert engine.inside == 0

    made.run(main)


def test_the_plans_timeout_counts_from_the_arrival_where_the_request_has_none() -> None:
    async def main() -> None:
        model = made.served(timeout=5.0)
        desk = Desk(model)
        async with started(model) as engine:
            first, second, third = desk.job(), desk.job(timeout=1.0), desk.job(deadline=perf_counter() + 99)
            first.timeline.arrived = second.timeline.arrived = 10**9 * int(perf_counter() - 0)
            kept = third.deadline
            for job in (first, second, third):
                engine.submit(job)
            arrived = first.timeline.arrived / 1e9
            assert (first.deadline, second.deadline, third.deadline) == (arrived + 5, arrived + 1, kept)

    made.run(main)


def test_a_full_queue_refuses_and_the_others_are_answered() -> None:
    async def main() -> None:
        gated = made.Gated()
        model = made.served(made.fake(gated), queue_requests=2)
        desk = Desk(model)
        async with started(model) as engine:
            engine.submit(desk.job())
            assert await asyncio.to_thread(gated.begun.acquire)
            engine.submit(desk.job())
            engine.check(model, 16)
            engine.submit(desk.job())
            for refused in (lambda: engine.submit(desk.job()), lambda: engine.check(model, 16)):
                with pytest.raises(Overloaded):
                    refused()
            assert engine.inside == 3
            for _ in range(3):
                gated.go.release()
            await desk.all(3)

    made.run(main)


def test_higher_priorities_go_first() -> None:
    async def main() -> None:
        gated = made.Gated()
        model = made.served(made.fake(gated), priorities=3)
        desk = Desk(model)
        async with started(model) as engine:
            engine.submit(desk.job())
            assert await asyncio.to_thread(gated.begun.acquire)
            # 0 and what is no level: the middle one.
            for value, priority in enumerate((3, 0, 2, 1, 9)):
                engine.submit(desk.job(made.rows(value), priority=priority))
            for _ in range(6):
                gated.go.release()
            await desk.all(6)
            assert values(desk.over[1:]) == [6, 2, 4, 8, 0]

    made.run(main)


def test_draining_loses_nothing_that_was_accepted() -> None:
    async def main() -> None:
        gated = made.Gated()
        model = made.served(made.fake(gated))
        desk = Desk(model)
        async with started(model) as engine:
            assert engine.ready and not engine.draining
            for value in range(4):
                engine.submit(desk.job(made.rows(value)))
            draining = asyncio.create_task(engine.drain(20))
            await asyncio.sleep(0)
            assert engine.draining and not engine.ready
            for refused in (lambda: engine.submit(desk.job()), lambda: engine.check(model, 0)):
                with pytest.raises(Draining):
                    refused()
            for _ in range(4):
                gated.go.release()
            assert await draining == 0
            assert values(desk.over) == [0, 2, 4, 6]

    made.run(main)


def test_what_is_not_over_when_draining_ends_is_told() -> None:
    async def main() -> None:
        gated = made.Gated()
        model = made.served(made.fake(gated))
        desk = Desk(model)
        async with started(model) as engine:
            for value in range(3):
                engine.submit(desk.job(made.rows(value)))
            assert await asyncio.to_thread(gated.begun.acquire)
            assert await engine.drain(0.01) == 3
            assert [type(j.error) for j in desk.over] == [Draining] * 3
            assert engine.inside == 0

    made.run(main)


def test_nothing_comes_in_before_the_model_is_warm() -> None:
    async def main() -> None:
        model = made.served()
        model.ready = False
        engine = Engine([model])
        assert not engine.ready
        with pytest.raises(NotReady, match='model "m" is not ready yet'):
            engine.submit(made.job(model))
        await engine.start()
        assert engine.ready and model.ready
        await engine.close()
        assert not engine.ready

    made.run(main)


def test_each_declared_shape_is_run_before_it_is_ready() -> None:
    async def main() -> None:
        plan = hotlap.Plan(warm=({"x": (1, 4)}, {"x": (5, 4)}))
        runner = made.fake(plan=plan)
        model = made.served(runner, facts=Facts(), lanes=3)
        engine = Engine([model])
        await engine.start()
        seen = [len(c["x"]) for c in runner.calls]
        assert set(seen) == {1, 5}
        assert len(engine._tracks[model].lanes._threads) == 3
        assert min(seen.count(1), seen.count(5)) >= 3 * 3, "in each lane, until its buffers are bound"
        await engine.close()

    made.run(main)


def test_short_calls_get_one_lane_unless_the_plan_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "hotlap.serve.track.ALONE", 0.01
    )  # a slow machine's hundredth of a second is short too

    async def main() -> None:
        for latency, said, lanes in ((0.0, None, 1), (0.0, 3, 3), (0.02, None, 3)):
            model = made.served(made.fake(latency=latency), lanes=said)
            model.lanes = 3
            async with started(model) as engine:
                assert engine.load(model).lanes == lanes

    made.run(main)


def test_jobs_that_come_together_are_told_each_for_itself() -> None:
    async def main() -> None:
        short, long = made.served(inline=True), made.served()
        long.name = "long"
        async with started(short, long) as engine:
            track = engine._tracks[short]
            track._pays = Pays(Curve(16, {1: 1.0, 2: 1.0}))
            desk, other = Desk(short), Desk(long)
            late = desk.job(deadline=perf_counter() - 1.0)
            alone = desk.job(made.rows())  # without a row there is nothing to share
            jobs = [
                desk.job(made.rows(3.0)),
                late,
                other.job(made.rows(5.0)),
                alone,
                desk.job(made.rows(4.0)),
            ]
            engine.submit_all(jobs)
            assert [job.over for job in jobs] == [True, True, False, True, True]
            assert [len(feed["x"]) for feed in short.runner.calls] == [0, 2]  # type: ignore[attr-defined]
            assert isinstance(late.error, DeadlineExceeded)
            assert values([jobs[0], jobs[4]]) == [6.0, 8.0]
            assert len(desk.over) == 4
            await other.all(1)
            assert values(other.over) == [10.0]
            statistics = short.statistics
            assert (statistics.execution_count, statistics.requests["late"].count) == (2, 1)
            await engine.drain(1.0)
            refused = desk.job()
            engine.submit_all([refused])
            assert isinstance(refused.error, Draining) and desk.over[-1] is refused

    made.run(main)


def test_of_jobs_that_come_together_one_that_cannot_be_counted_is_in_nobodys_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        short = made.served(inline=True)
        async with started(short) as engine:
            desk = Desk(short)
            jobs = [desk.job() for _ in range(3)]
            count = short.statistics.alone

            def counted(job: Job) -> None:
                if job is jobs[1]:
                    raise RuntimeError("no such number")
                count(job)

            monkeypatch.setattr(short.statistics, "alone", counted)
            engine.submit_all(jobs)
            assert desk.over == jobs
            assert values(jobs) == [2.0, 2.0, 2.0]

    made.run(main)


def test_whatever_a_runner_raises_the_lane_goes_on() -> None:
    async def main() -> None:
        runner = made.fake()
        model = made.served(runner)
        desk = Desk(model)
        async with started(model) as engine:
            errors: list[Any] = [SystemExit(1), KeyboardInterrupt(), MemoryError(), ValueError("x")]
            runner._failures.update(enumerate(errors))
            for value in range(5):
                engine.submit(desk.job(made.rows(value)))
            await desk.all(5)
            assert values(desk.over) == [*errors, 8.0]

    made.run(main)


def test_who_cannot_be_told_is_not_in_the_way_of_the_others(caplog: pytest.LogCaptureFixture) -> None:
    def broken(job: Job) -> None:
        raise ValueError("the connection's fault")

    async def main() -> None:
        model = made.served(inline=True)
        desk = Desk(model)
        async with started(model) as engine:
            engine.submit(made.job(model, done=broken))
            engine.submit(desk.job())
            assert len(desk.over) == 1 and engine.inside == 0

    made.run(main)
    assert "a request could not be finished" in caplog.text


def test_who_cannot_be_counted_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Statistics):
        __slots__ = ()

        def executed(self, call: Any) -> None:
            raise ValueError("the counter's fault")

    async def main() -> None:
        model = made.served()
        model.statistics = Broken()
        desk = Desk(model)
        async with started(model) as engine:
            engine.submit(desk.job())
            await made.until(lambda: len(desk.over) == 1)
            assert engine.inside == 0

    made.run(main)
    assert "a call could not be counted" in caplog.text


def test_statistics_see_every_end() -> None:
    class Seen(Statistics):
        ends: ClassVar[list[str]] = []

        def observe(self, job: Job) -> None:
            self.ends.append("dropped" if job.dropped else "answered" if job.error is None else "failed")

    async def main() -> None:
        runner = made.fake()
        model = made.served(runner)
        model.statistics = Seen()
        desk = Desk(model)
        async with started(model) as engine:
            runner._failures[0] = ValueError("x")
            jobs = [desk.job() for _ in range(3)]
            for job in jobs:
                engine.submit(job)
            engine.drop(jobs[2])
            await desk.all(2)
        assert sorted(Seen.ends) == ["answered", "dropped", "failed"]

    made.run(main)


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match='two models are named "m"'):
        Engine([made.served(), made.served()])


def test_closing_while_calls_run_fails_them_and_closes_the_model() -> None:
    async def main() -> None:
        model = made.served()
        desk = Desk(model)
        engine = Engine([model])
        await engine.start()
        for _ in range(20):
            engine.submit(desk.job())
        await engine.close()
        await engine.close()
        assert len(desk.over) == 20 and engine.inside == 0
        with pytest.raises(UsageError, match="closed"):
            model.runner.run({"x": made.rows(1)})

    made.run(main)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_each_job_is_told_once_or_dropped(seed: int) -> None:
    """Jobs in any order that fail, are late, dropped, refused, large and small, through three lanes."""

    def answer(feed: dict[str, Any]) -> Any:
        if (feed["x"] == 13).any():
            raise ValueError("13")
        return made.doubled(feed)

    async def main() -> None:
        rng = np.random.default_rng(seed)
        model = made.served(
            made.fake(answer, latency=lambda feed: 0.0002), lanes=3, queue_requests=40, priorities=2
        )
        desk = Desk(model)
        accepted, refused = [], 0
        async with started(model) as engine:
            batching(model, engine, 6)
            for number in range(600):
                value = 13.0 if rng.random() < 0.05 else float(rng.integers(20, 10**6))
                job = desk.job(
                    np.full((rng.integers(1, 4), 4), value, np.float32),
                    deadline=perf_counter() + rng.random() * 0.004 if rng.random() < 0.2 else None,
                    priority=int(rng.integers(0, 3)),
                )
                try:
                    engine.submit(job)
                    accepted.append(job)
                except (Overloaded, DeadlineExceeded):
                    refused += 1
                if rng.random() < 0.1 and accepted:
                    engine.drop(accepted[rng.integers(0, len(accepted))])
                if number % 8 == 0:
                    await asyncio.sleep(float(rng.random()) * 0.002)
            assert await engine.drain(20) == 0
            assert engine.load(model).waiting == 0
        told = set(desk.over)
        assert len(desk.over) == len(told)
        for job in accepted:
            assert job.over and (job in told) is not job.dropped
        for job in told:
            value = float(job.request.feed["x"][0, 0])
            if job.outputs is not None:
                assert value != 13 and (job.outputs["y"] == np.float32(value) * 2).all()
                assert job.outputs["y"].shape == job.request.feed["x"].shape
            else:
                assert isinstance(job.error, DeadlineExceeded) or (str(job.error) == "13" and value == 13)
        assert len(accepted) + refused == 600

    made.run(main)


def test_a_real_model_under_load_gives_everybody_their_own_answer(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")

    async def main(lanes: int, inline: bool | None, most: int) -> None:
        runner = hotlap.open(path, threads=1, warm=False)
        model = made.served(runner, lanes=lanes, inline=inline)
        desk = Desk(model)
        rng = np.random.default_rng(0)
        feeds = [rng.standard_normal((n % 3 + 1, 16), np.float32) for n in range(60)]
        expected = [runner.run({"x": f})["y"] for f in feeds]
        async with started(model) as engine:
            if most > 1:
                batching(model, engine, most)
            jobs = [desk.job(f) for f in feeds]
            for number, job in enumerate(jobs):
                engine.submit(job)
                if number % 7 == 0:
                    await asyncio.sleep(0)
            await desk.all(60)
        for job, want in zip(jobs, expected, strict=True):
            assert job.outputs is not None, job.error
            if job.batch == 1:
                np.testing.assert_array_equal(job.outputs["y"], want)
            else:
                np.testing.assert_allclose(job.outputs["y"], want, rtol=1e-5, atol=1e-6)

    for lanes, inline, most in ((1, True, 1), (2, False, 1), (1, False, 8), (3, False, 8)):
        made.run(lambda lanes=lanes, inline=inline, most=most: main(lanes, inline, most))


@pytest.mark.parametrize("inline", [True, False])
def test_jobs_that_are_over_leave_nothing_for_the_collector(tmp_path: Path, inline: bool) -> None:
    """Requests hold megabytes: they must go when they are over, and not when a collection comes round."""
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")

    async def main() -> None:
        model = made.served(hotlap.open(path, threads=1, warm=False), inline=inline)
        over: list[str] = []

        def done(job: Job) -> None:
            over.append(type(job.error).__name__)

        async with started(model) as engine:
            gc.collect()
            gc.disable()
            try:
                gone = []
                for width in (16, 5):
                    job = made.job(model, np.zeros((1, width), np.float32), done)
                    gone.append(weakref.ref(job.request.feed["x"]))
                    engine.submit(job)
                    del job
                await made.until(lambda: len(over) == 2)
                assert sorted(over) == ["InputError", "NoneType"]
                await made.until(lambda: all(ref() is None for ref in gone))
            finally:
                gc.enable()

    made.run(main)

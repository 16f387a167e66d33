from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hotlap
from hotlap.errors import Cancelled, DeadlineExceeded, InputError, Overloaded, UsageError
from hotlap.runtime import Cancel, FakeRunner, Runner
from hotlap.runtime.arun import Workers
from hotlap.tensors import TensorSpec
from tests.runtime.slow import FOREVER, SHORT, X, loop


def opened(tmp_path: Path) -> Runner:
    return hotlap.open(loop(tmp_path), threads=1, workers=2, waiting=2)


def test_it_answers_as_run_does(tmp_path: Path) -> None:
    runner = opened(tmp_path)

    async def main() -> Any:
        one = runner.arun({"x": X, "n": SHORT})
        two = runner.arun({"x": 2 * X, "n": SHORT}, ["total"], deadline=60)
        return await asyncio.gather(one, two)

    first, second = asyncio.run(main())
    assert (first["total"].tolist(), second["total"].tolist()) == ([3] * 4, [6] * 4)
    runner.close()


def test_errors_come_to_who_awaits(tmp_path: Path) -> None:
    runner = opened(tmp_path)

    async def main() -> None:
        with pytest.raises(InputError, match="missing"):
            await runner.arun({"x": X})
        with pytest.raises(DeadlineExceeded):
            await runner.arun({"x": X, "n": FOREVER}, deadline=0.05)
        cancel = Cancel()
        asyncio.get_running_loop().call_later(0.05, cancel.cancel)
        with pytest.raises(Cancelled):
            await runner.arun({"x": X, "n": FOREVER}, cancel=cancel)

    asyncio.run(main())
    runner.close()


def test_the_loop_goes_on_meanwhile(tmp_path: Path) -> None:
    runner = opened(tmp_path)

    async def main() -> None:
        cancel = Cancel()
        call = asyncio.create_task(runner.arun({"x": X, "n": FOREVER}, cancel=cancel))
        for _ in range(10):
            await asyncio.sleep(0.005)
            assert not call.done()
        cancel.cancel()
        with pytest.raises(Cancelled):
            await call

    asyncio.run(main())
    runner.close()


def test_a_task_that_is_cancelled_stops_the_model(tmp_path: Path) -> None:
    runner = opened(tmp_path)

    async def main() -> float:
        task = asyncio.create_task(runner.arun({"x": X, "n": FOREVER}))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        start = time.monotonic()
        both = [runner.arun({"x": X, "n": SHORT}) for _ in range(2)]  # both workers are free again
        await asyncio.gather(*both)
        return time.monotonic() - start

    assert asyncio.run(main()) < 5
    runner.close()


def test_more_calls_than_may_wait_are_refused_at_once(tmp_path: Path) -> None:
    runner = opened(tmp_path)

    async def main() -> None:
        cancel = Cancel()
        calls = [asyncio.create_task(runner.arun({"x": X, "n": FOREVER}, cancel=cancel)) for _ in range(4)]
        await asyncio.sleep(0.05)
        with pytest.raises(Overloaded, match="2 calls run and 2 wait already: try again later"):
            await runner.arun({"x": X, "n": SHORT})
        cancel.cancel()
        for call in calls:
            with pytest.raises(Cancelled):
                await call
        assert (await runner.arun({"x": X, "n": SHORT}))["total"].tolist() == [3] * 4

    asyncio.run(main())
    runner.close()


def test_the_deadline_counts_while_a_call_waits(tmp_path: Path) -> None:
    runner = opened(tmp_path)

    async def main() -> None:
        cancel = Cancel()
        busy = [asyncio.create_task(runner.arun({"x": X, "n": FOREVER}, cancel=cancel)) for _ in range(2)]
        late = asyncio.create_task(runner.arun({"x": X, "n": SHORT}, deadline=0.1))
        await asyncio.sleep(0.02)  # it waits from here on at the latest
        await asyncio.sleep(0.1)
        cancel.cancel()
        with pytest.raises(DeadlineExceeded, match="had passed before the model ran"):
            await late
        await asyncio.gather(*busy, return_exceptions=True)

    asyncio.run(main())
    runner.close()


def test_a_fake_is_awaited_too() -> None:
    x = TensorSpec.of("x", "float32", [2])
    with FakeRunner([x], [x], answer=lambda feed: {"x": feed["x"] * 2}) as fake:
        assert asyncio.run(fake.arun({"x": [1, 2]}))["x"].tolist() == [2, 4]


def test_threads_end_with_the_runner(tmp_path: Path) -> None:
    with hotlap.open(loop(tmp_path), threads=1) as runner:
        asyncio.run(runner.arun({"x": X, "n": SHORT}))
        pool = runner._workers._pool
        assert pool is not None
        mine = list(pool._threads)
        assert mine and all(t.name.startswith("hotlap_") for t in mine)
    with pytest.raises(UsageError, match="this runner is closed"):
        asyncio.run(runner.arun({"x": X, "n": SHORT}))
    for thread in mine:
        thread.join(10)
    assert not any(t.is_alive() for t in mine)


def test_workers_run_so_many_at_a_time() -> None:
    workers = Workers(2, 10)
    running, most = 0, 0
    lock = threading.Lock()

    def call() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    async def main() -> None:
        await asyncio.gather(*(workers.run(call, Cancel()) for _ in range(8)))

    asyncio.run(main())
    workers.close()
    assert most == 2


def test_a_call_that_no_thread_could_be_started_for_takes_no_place() -> None:
    class Full(ThreadPoolExecutor):
        def _adjust_thread_count(self) -> None:
            if full:
                raise RuntimeError("can't start new thread")
            super()._adjust_thread_count()  # type: ignore[misc]

    workers, full, ran = Workers(1, 1), [True], []
    workers._pool = Full(1)
    for _ in range(5):
        with pytest.raises(Overloaded, match="can't start new thread"):
            workers._submit(lambda: ran.append("refused"))
    full.clear()
    workers._submit(lambda: ran.append("taken")).result(10)
    assert ran == ["taken"], "what was refused does not run later"
    workers.close()

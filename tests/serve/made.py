"""Jobs, models and engines for the tests of serving."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from hotlap.plan import Facts, Serve
from hotlap.runtime import FakeRunner
from hotlap.serve.job import Job
from hotlap.serve.served import Served
from hotlap.tensors import TensorSpec
from hotlap.wire import InferRequest, Wanted

X = TensorSpec.of("x", "float32", ["N", 4])
Y = TensorSpec.of("y", "float32", ["N", 4])
INDEPENDENT = Facts(rows="independent", axes={"x": 0, "y": 0})


def doubled(feed: dict[str, Any]) -> dict[str, Any]:
    return {"y": feed["x"] * 2}


def fake(answer: Callable[[dict[str, Any]], Any] = doubled, **more: Any) -> FakeRunner:
    return FakeRunner(more.pop("inputs", [X]), more.pop("outputs", [Y]), answer=answer, **more)


def served(runner: Any = None, *, facts: Facts = INDEPENDENT, lanes: int = 1, **serve: Any) -> Served:
    serve = {"inline": False, "lanes": lanes, "max_batch": 1} | serve
    return Served(
        name="m", runner=runner or fake(), facts=facts, serve=Serve(**serve), lanes=lanes, ready=True
    )


def rows(*values: float) -> Any:
    """One row for each value, filled with it."""
    return np.repeat(np.array(values, np.float32)[:, None], 4, axis=1)


def job(
    model: Served,
    feed: Any = None,
    done: Callable[[Job], None] = lambda job: None,
    *,
    outputs: Sequence[str] = (),
    **more: Any,
) -> Job:
    """A job; `feed` is a dict, or an array for "x"."""
    feed = {"x": rows(1.0)} if feed is None else feed if isinstance(feed, dict) else {"x": feed}
    known = {k: more.pop(k) for k in ("deadline", "read") if k in more}
    request = InferRequest(
        feed=feed,
        outputs=tuple(Wanted(name) for name in outputs),
        nbytes=sum(a.nbytes for a in feed.values()),
        **more,
    )
    return Job(model, request, done, **known)


class Gated:
    """An answer that waits until it is let go, and says that it was begun."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any] = doubled) -> None:
        self.begun, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.open = False
        self._answer = answer

    def __call__(self, feed: dict[str, Any]) -> Any:
        if not self.open:
            self.begun.release()
            assert self.go.acquire(timeout=20)
        return self._answer(feed)


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), 30))


async def until(true: Callable[[], bool]) -> None:
    """Turns of the event loop until it is so."""
    end = perf_counter() + 20
    while not true():
        assert perf_counter() < end, "it never came to be"
        await asyncio.sleep(0.001)

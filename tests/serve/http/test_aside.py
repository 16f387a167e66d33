from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from hotlap.serve.http.aside import Aside
from tests.serve import made

Told = list[tuple[str, Any]]


def do(aside: Aside, told: Told, long: bool, work: Any) -> None:
    aside.do(long, work, lambda r: told.append(("then", r)), lambda e: told.append(("failed", e)))


def fails() -> None:
    raise ValueError("no")


def test_short_work_is_done_at_once_here() -> None:
    told: Told = []
    aside = Aside(lambda: True)
    do(aside, told, False, threading.current_thread)
    assert told == [("then", threading.current_thread())]
    do(aside, told, False, fails)
    assert told[1][0] == "failed" and isinstance(told[1][1], ValueError)


def test_long_work_is_done_in_a_thread_and_told_on_the_loop() -> None:
    async def main() -> None:
        told: Told = []
        aside = Aside(lambda: True)
        do(aside, told, True, threading.current_thread)
        assert told == []
        await made.until(lambda: len(told) == 1)
        assert told[0][0] == "then" and told[0][1] is not threading.current_thread()
        do(aside, told, True, fails)
        await made.until(lambda: len(told) == 2)
        assert told[1][0] == "failed" and isinstance(told[1][1], ValueError)

    made.run(main)


@pytest.mark.parametrize("how", ["cancelled", "unwanted"])
def test_what_nobody_wants_any_more_is_not_told(how: str) -> None:
    async def main() -> None:
        told: Told = []
        go, done = threading.Event(), threading.Event()

        def work() -> None:
            assert go.wait(20)
            done.set()

        aside = Aside(lambda: how == "cancelled")
        do(aside, told, True, work)
        if how == "cancelled":
            aside.cancel()
        go.set()
        await asyncio.to_thread(done.wait, 20)
        for _ in range(10):
            await asyncio.sleep(0.001)
        assert told == []

    made.run(main)


def test_with_nothing_going_on_there_is_nothing_to_cancel() -> None:
    Aside(lambda: True).cancel()

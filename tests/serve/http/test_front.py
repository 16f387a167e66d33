from __future__ import annotations

import asyncio
import email.utils

import pytest

from hotlap.serve.engine import Engine
from hotlap.serve.http.front import Front
from hotlap.serve.http.limits import Limits
from hotlap.serve.http.respond import Reply
from hotlap.serve.http.routes import Route
from hotlap.serve.shared import SharedMemory
from hotlap.serve.status import Unauthorized
from tests.serve.http.wired import Client, get, model, serving

CLOSED = Route("GET", "/a", lambda *_: Reply())
OPEN = Route("GET", "/b", lambda *_: Reply(), open=True)


def front(token: str | None = None, **limits: float) -> Front:
    return Front(Engine([model()]), (CLOSED, OPEN), Limits(**limits), SharedMemory(), token=token)  # type: ignore[arg-type]


def test_without_a_token_everybody_may_come() -> None:
    front().authorise(CLOSED, {}, near=True)


@pytest.mark.parametrize("given", [None, b"", b"Bearer", b"Bearer abcd", b"Bearer ab", b"Basic abc", b"\xff"])
def test_a_wrong_token_is_refused_where_one_is_asked_for(given: bytes | None) -> None:
    headers = {} if given is None else {b"authorization": given}
    with pytest.raises(Unauthorized):
        front("abc").authorise(CLOSED, headers, near=True)
    front("abc").authorise(OPEN, headers, near=True)


@pytest.mark.parametrize("given", [b"Bearer abc", b"bearer abc", b"BEARER abc"])
def test_the_right_token_is_taken(given: bytes) -> None:
    front("abc").authorise(CLOSED, {b"authorization": given}, near=True)


def test_one_timer_keeps_the_time_and_the_date() -> None:
    async def main() -> None:
        mine = front(idle_time=0.2)
        loop = asyncio.get_running_loop()
        mine.start(loop)
        first = mine.now
        await asyncio.sleep(0.15)
        assert mine.now > first
        name, _, value = mine.date.decode().strip().partition(": ")
        assert name == "Date" and email.utils.parsedate_to_datetime(value)
        mine.stop()
        last = mine.now
        await asyncio.sleep(0.15)
        assert mine.now == last

    asyncio.run(main())


def test_what_goes_wrong_with_one_connection_stops_no_clock(caplog: pytest.LogCaptureFixture) -> None:
    class Odd:
        looks = 0

        def look(self, now: float) -> None:
            self.looks += 1
            raise AttributeError("odd")

        def cut(self) -> None: ...

    async def main() -> None:
        mine, odd, other = front(idle_time=0.02), Odd(), Odd()
        mine.start(asyncio.get_running_loop())
        mine.connections |= {odd, other}  # type: ignore[arg-type]
        while odd.looks < 2 or other.looks < 2:
            await asyncio.sleep(0.005)
        mine.stop()

    asyncio.run(asyncio.wait_for(main(), 20))
    assert "could not be looked at" in caplog.text


def test_nobody_there_means_nobody_to_wait_for() -> None:
    async def main() -> None:
        mine = front()
        mine.start(asyncio.get_running_loop())
        assert await mine.finish(5) == 0
        assert mine.closing
        mine.stop()

    asyncio.run(main())


def test_the_date_is_told() -> None:
    with serving() as server, Client(server) as client:
        assert client.ask(get("/v2/health/live")).headers["date"].endswith(" GMT")

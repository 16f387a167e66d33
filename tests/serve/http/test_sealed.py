"""Answers that clients read slowly, through TLS."""

from __future__ import annotations

import gc
import logging
import ssl
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.serve.http.tls import context
from tests.serve.http.test_tls import pem, pytestmark, trusting
from tests.serve.http.wired import (
    INFER,
    Client,
    Feed,
    Serving,
    binary,
    get,
    infer,
    model,
    ok,
    post,
    rows,
    until,
)

__all__ = ["pem", "pytestmark"]

MOST = 500_000  # rows: 8 MB


def large(feed: Feed) -> Feed:
    return {"y": np.repeat(feed["x"], MOST if feed["x"][0, 0] == 1 else 1, axis=0)}


def request() -> bytes:
    body, line = binary(rows(1.0))
    return post(body, INFER, line)


@pytest.fixture
def tls(pem: tuple[Path, Path]) -> dict[str, ssl.SSLContext]:
    return {"tls": context(*pem)}


@pytest.fixture
def trust(pem: tuple[Path, Path]) -> ssl.SSLContext:
    return trusting(pem[0])


def complaints(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Besides what is told anyway where somebody has asked for it."""
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_an_answer_that_is_being_read_is_read_whole_though_the_server_ends(
    start: Serving, tls: Any, trust: Any
) -> None:
    with start(model(large), **tls) as server, Client(server, small=True, context=trust) as client:
        client.send(request())
        until(lambda: server.engine.models["m"].statistics.requests["ok"].count == 1)
        ending = threading.Thread(target=server.close, daemon=True)
        ending.start()
        time.sleep(0.1)
        assert len(client.answer().body) > 16 * MOST
        ending.join(timeout=20)
        assert not ending.is_alive()


def test_who_reads_slowly_is_not_cut(start: Serving, tls: Any, trust: Any) -> None:
    limits = {"write_time": 0.5, "idle_time": 0.2, "linger_time": 0.2}
    with (
        start(model(large), limits=limits, **tls) as server,
        Client(server, small=True, context=trust) as client,
    ):
        client.send(request() + post(infer(2.0), INFER, "Connection: close"))
        got = b""
        for _ in range(20):
            while len(client.rest) < 200_000:
                client._more()
            got, client.rest = got + client.rest, b""
            time.sleep(0.03)
        client.rest = got
        assert len(client.answer().body) > 16 * MOST
        np.testing.assert_array_equal(client.answer().y, rows(2.0))
        assert client.ended()


def test_who_does_not_read_is_cut(start: Serving, tls: Any, trust: Any) -> None:
    with (
        start(model(large), limits={"write_time": 0.2}, **tls) as server,
        Client(server, small=True, context=trust) as client,
    ):
        client.send(request())
        until(lambda: len(server._front.connections) == 1)
        until(lambda: not server._front.connections)
        assert server._front.answers == 0


def test_answers_that_are_left_unread_are_counted(start: Serving, tls: Any, trust: Any) -> None:
    with start(model(large), limits={"answers": 10_000_000}, **tls) as server:
        with Client(server, small=True, context=trust) as lazy:
            lazy.send(request())
            until(lambda: server._front.answers > 4_000_000)
            with Client(server, context=trust) as client:
                assert client.ask(request()).status == 429
        until(lambda: server._front.answers == 0)
        with Client(server, context=trust) as client:
            assert client.ask(request()).status == 200
            assert client.ask(request()).status == 200
        until(lambda: server._front.answers == 0)


def test_a_client_that_says_farewell_does_not_stop_the_clock(
    start: Serving, tls: Any, trust: Any, caplog: pytest.LogCaptureFixture
) -> None:
    limits = {"idle_time": 0.2, "write_time": 0.2, "linger_time": 0.2}
    with (
        start(model(large), limits=limits, **tls) as server,
        Client(server, small=True, context=trust) as farewell,
    ):
        farewell.send(request())
        until(lambda: server._front.answers > 4_000_000)
        farewell.socket.settimeout(0.01)
        with pytest.raises(OSError):
            farewell.socket.unwrap()
        with Client(server, context=trust) as idle:
            assert idle.ask(get("/v2/health/live")).status == 200
            assert idle.ended()
        until(lambda: not server._front.connections)
    assert not complaints(caplog)


def test_idle_clients_do_not_hold_up_the_end(start: Serving, tls: Any, trust: Any) -> None:
    with start(model(large), **tls) as server, Client(server, context=trust) as client:
        ok(client.ask(post(infer(2.0))), 1.0)
        begun = time.monotonic()
        server.close()
        assert time.monotonic() - begun < 20  # the drain alone would be 30 s
        assert client.ended()


def test_who_is_in_the_middle_of_a_handshake_is_cut_at_the_end(
    start: Serving, tls: Any, trust: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with start(model(large), **tls) as server, Client(server.url) as half, Client(server.url) as none:
        hello = ssl.MemoryBIO()
        with pytest.raises(ssl.SSLWantReadError):
            trust.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="127.0.0.1").do_handshake()
        half.send(hello.read()[:100])
        with Client(server, context=trust) as whole:  # so that the others were taken up
            assert whole.ask(get("/v2/health/live")).status == 200
        server.close()
        assert half.ended() and none.ended()
    gc.collect()
    assert not complaints(caplog)


def test_what_comes_with_the_end_of_the_handshake_is_taken(start: Serving, tls: Any, trust: Any) -> None:
    """A client that sends the last of its handshake and a request in one piece."""
    with start(model(large), **tls) as server:
        for _ in range(20):
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            end = trust.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
            with Client(server) as client:
                while True:
                    try:
                        end.do_handshake()
                        break
                    except ssl.SSLWantReadError:
                        client.send(outgoing.read())
                        incoming.write(client.socket.recv(65536))
                end.write(get("/v2/health/live", "Connection: close"))
                client.send(outgoing.read())
                got = b""
                while b'"live":true' not in got:
                    incoming.write(client.socket.recv(65536))
                    try:
                        got += end.read(65536)
                    except ssl.SSLWantReadError:
                        continue


def test_who_goes_before_the_handshake_leaves_nothing_behind(
    start: Serving, tls: Any, trust: Any, caplog: pytest.LogCaptureFixture
) -> None:
    limits = {"head_time": 0.4, "write_time": 0.4}
    with start(limits=limits, **tls) as server:
        server._loop.call_soon_threadsafe(time.sleep, 0.2)  # type: ignore[union-attr]
        for _ in range(5):  # they connect, and are gone when the loop takes them up
            Client(server.url).socket.close()
        with Client(server, context=trust) as client:  # it comes behind them
            assert client.ask(get("/v2/health/live")).status == 200
        until(lambda: not server._front.handshakes and not server._front.connections)
    assert not complaints(caplog)


def test_handshakes_that_go_on_count_among_the_connections(start: Serving, tls: Any, trust: Any) -> None:
    with start(limits={"connections": 2}, **tls) as server:
        with ExitStack() as stack:
            whole = stack.enter_context(Client(server, context=trust))
            assert whole.ask(get("/v2/health/live")).status == 200
            silent = [stack.enter_context(Client(server.url)) for _ in range(5)]
            for one in silent[1:]:
                assert one.ended()
            assert len(server._front.handshakes) == 1
            assert whole.ask(get("/v2/health/live")).status == 200
        until(lambda: not server._front.handshakes and not server._front.connections)
        with Client(server, context=trust) as client:
            assert client.ask(get("/v2/health/live")).status == 200

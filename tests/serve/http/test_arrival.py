from __future__ import annotations

import gzip
import socket
import threading
from typing import Any

import numpy as np
import pytest

from tests.serve.http.wired import (
    HEAD,
    INFER,
    Client,
    Gated,
    Serving,
    binary,
    doubled,
    get,
    infer,
    model,
    ok,
    post,
    until,
)

# ── chunked bodies, Expect ────────────────────────────────────────────────────────────────────────────


def chunked(body: bytes, *sizes: int) -> bytes:
    out = b""
    for size in sizes:
        out += b"%x;note=1\r\n%b\r\n" % (size, body[:size])
        body = body[size:]
    return out + (b"%X\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\nTrailer: x\r\n\r\n"


def test_chunked_bodies_are_put_together(client: Client) -> None:
    client.send(HEAD + chunked(infer(4.0), 1, 2, 30) + post(infer(5.0)))
    ok(client.answer(), 4.0)
    ok(client.answer(), 5.0)


def test_a_chunked_body_may_be_cut_anywhere(client: Client) -> None:
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request = HEAD + chunked(infer(4.0), 7, 11)
    for place in range(len(request)):
        client.send(request[place : place + 1])
    ok(client.answer(), 4.0)


def test_a_refused_chunked_request_that_is_whole_leaves_the_connection_open(start: Serving) -> None:
    gate = Gated()
    served = model(gate, queue_requests=1)
    with start(served) as server, Client(server) as busy, Client(server) as waits, Client(server) as client:
        whole = chunked(infer(4.0), 7)
        for head, status in (
            (HEAD.replace(b"/m/", b"/nobody/"), 404),
            (HEAD.replace(b"/v2/", b"/v9/"), 404),
            (HEAD.replace(b"POST", b"PUT"), 405),
            (HEAD.replace(b"Host: h", b"Host: h\r\nContent-Encoding: br"), 415),
        ):
            client.send(head + whole + post(infer(5.0)))
            assert client.answer().status == status
            ok(client.answer(), 5.0)
        gate.open = False
        busy.send(post(infer(1.0)))
        assert gate.begun.acquire(timeout=20)
        waits.send(post(infer(2.0)))
        until(lambda: server.engine.inside == 2)
        for _ in range(2):
            assert client.ask(HEAD + whole).status == 429
        served.ready = False
        assert client.ask(HEAD + whole).status == 503
        served.ready = gate.open = True
        gate.go.release(2)
        ok(busy.answer(), 1.0)
        ok(waits.answer(), 2.0)
        ok(client.ask(HEAD + whole), 4.0)


def test_a_refused_chunked_request_that_is_not_whole_ends_the_connection(start: Serving) -> None:
    cut = chunked(infer(4.0), 7)[:-9]
    for head in (HEAD.replace(b"/m/", b"/nobody/"), HEAD.replace(b"/v2/", b"/v9/")):
        with start() as server, Client(server) as client:
            answer = client.ask(head + cut)
            assert (answer.status, answer.headers["connection"]) == (404, "close")
            assert client.ended()


def test_a_client_that_asks_whether_to_go_on_is_told_so(client: Client) -> None:
    body = infer(6.0)
    request = post(body, INFER, "Expect: 100-continue")
    client.send(request[: -len(body)])
    assert client.line() == b"HTTP/1.1 100 Continue" and client.line() == b""
    ok(client.ask(body), 6.0)
    whole = client.ask(request)  # who does not wait need not be told
    ok(whole, 6.0)
    assert whole.interim == []


def test_a_body_that_will_be_refused_is_not_asked_for(start: Serving) -> None:
    with start(limits={"body": 1000}) as server, Client(server) as client:
        answer = client.ask(get(INFER, "Expect: 100-continue", "Content-Length: 1001", method="POST"))
        assert (answer.status, answer.interim) == (413, [])
        assert answer.error == "the body has 1,001 bytes, at most 1,000 are taken"
        assert client.ended()


# ── what is no request ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "request_",
    [
        post(b"x", INFER, "Transfer-Encoding: chunked"),
        post(b"x", INFER, "Content-Length: 1"),
        post(b"x", INFER, "Content-Length: 2"),
        post(b"x").replace(b"Content-Length: 1", b"Content-Length: +1"),
        post(b"x").replace(b"Content-Length: 1", b"Content-Length: 1, 1"),
        post(b"x").replace(b"Content-Length: 1", b"Content-Length: 0x1"),
        post(b"x").replace(b"Content-Length: 1", b"Content-Length : 1"),
        post(b"x").replace(b"Content-Length: 1", b"Content-Length: " + b"9" * 30),
        get(INFER, "Transfer-Encoding: xchunked", method="POST") + b"0\r\n\r\n",
        get(INFER, "Transfer-Encoding: gzip, chunked", method="POST") + b"0\r\n\r\n",
        get(INFER, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked", method="POST") + b"0\r\n\r\n",
        get(INFER, "Transfer-Encoding: chunked", method="POST", version="1.0") + b"0\r\n\r\n",
        HEAD + b"5\n12345\r\n0\r\n\r\n",
        HEAD + b"5\r\n123456\r\n0\r\n\r\n",
        HEAD + b"-5\r\n12345\r\n0\r\n\r\n",
        HEAD + b"5 5\r\n12345\r\n0\r\n\r\n",
        HEAD + b"0x5\r\n12345\r\n0\r\n\r\n",
        HEAD + b"0\r\nno trailer\r\n\r\n",
        get("/v2/health/live").replace(b"\r\n", b"\n"),
        b"GET /v2/health/live HTTP/1.1\r\nHost: h\n\r\n\r\n",
        get("/v2/health/live", "A: b\r\n folded"),
        get("/v2/health/live", "A: b\0c"),
        get("/v2/health/live", "A: b\rc"),
        get("/v2/health/live", "Host: other"),
        b"GET /v2/health/live HTTP/1.1\r\n\r\n",
        b"GET v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /v2/health/live\r\n\r\n",
        b"GET  /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n",
        b"TAKE /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"\0" * 50 + b"\r\n\r\n",
    ],
)
def test_what_two_programs_might_read_in_two_ways_is_refused(client: Client, request_: bytes) -> None:
    answer = client.ask(request_)
    assert answer.status == 400, answer
    assert answer.headers["connection"] == "close" and answer.error
    assert client.ended()


def test_what_follows_a_refused_body_is_no_request(client: Client) -> None:
    client.send(post(get("/v2/health/live"), INFER, "Transfer-Encoding: chunked") + get("/v2/health/live"))
    assert client.answer().status == 400
    assert client.ended()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (get("/v2/health/live", version="2.0"), 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (get("/" + "a" * 5000), 414),
        (b"GET /" + b"a" * 20_000, 414),
        (get("/v2/health/live", "A: " + "b" * 17_000), 431),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 17_000, 431),
        (get("/v2/health/live", *[f"A{n}: b" for n in range(101)]), 431),
        (get(INFER, "Expect: miracles", "Content-Length: 1", method="POST"), 417),
        (post(b"", length=65 << 20), 413),
        (HEAD + b"FFFFFFFFFFFF\r\n", 413),
    ],
)
def test_what_is_too_large_or_unheard_of_is_refused(client: Client, request_: bytes, status: int) -> None:
    answer = client.ask(request_)
    assert answer.status == status
    assert answer.headers["connection"] == "close"
    assert client.ended()


# ── slow, and too much ────────────────────────────────────────────────────────────────────────────────


def test_a_head_that_takes_too_long_is_refused(start: Serving) -> None:
    with start(limits={"head_time": 0.2}) as server, Client(server) as client:
        answer = client.ask(b"GET /v2/health/live HT")
        assert (answer.status, answer.error) == (408, "the head took longer than 0.2 s")
        assert client.ended()


def test_a_client_that_says_nothing_is_cut(start: Serving) -> None:
    with start(limits={"head_time": 0.2}) as server, Client(server) as client:
        assert client.ended()


def test_a_slow_body_that_keeps_the_least_rate_is_taken(start: Serving) -> None:
    body, line = binary(np.ones((10_000, 4), np.float32))
    with start(limits={"body_time": 0.1, "least_rate": 16e3}) as server, Client(server) as client:
        request = post(body, INFER, line)
        for place in range(0, len(request), 40_000):
            client.send(request[place : place + 40_000])
            threading.Event().wait(0.15)
        assert client.answer().status == 200


def test_bodies_may_take_so_much_memory_together_and_no_more(start: Serving) -> None:
    with (
        start(limits={"body": 200_000, "bodies": 300_000}) as server,
        Client(server) as a,
        Client(server) as b,
    ):
        a.send(post(b"x" * 199_999, length=200_000))
        until(lambda: server._front.bodies == 199_999)
        answer = b.ask(post(b"", length=150_000))
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        a.socket.close()
        until(lambda: server._front.bodies == 0)


def test_bodies_that_never_come_keep_nobody_out(start: Serving) -> None:
    body, line = binary(np.ones((10_000, 4), np.float32))
    with start(limits={"body": 200_000, "bodies": 300_000}) as server, Client(server) as client:
        idle = [Client(server).send(post(b"x" * 100, length=200_000)) for _ in range(5)]
        until(lambda: server._front.bodies == 500)
        assert client.ask(post(body, INFER, line)).status == 200
        for other in idle:
            other.socket.close()
        until(lambda: server._front.bodies == 0)


def test_a_body_that_no_longer_fits_is_refused_half_way(start: Serving) -> None:
    with (
        start(limits={"body": 200_000, "bodies": 300_000}) as server,
        Client(server) as a,
        Client(server) as b,
    ):
        b.send(post(b"x" * 100_000, length=200_000))
        until(lambda: server._front.bodies == 100_000)
        a.send(post(b"x" * 199_999, length=200_000))
        until(lambda: server._front.bodies == 299_999)
        answer = b.ask(b"x" * 50_000)
        assert (answer.status, answer.headers["connection"]) == (429, "close")
        until(lambda: server._front.bodies == 199_999)


def test_a_chunked_body_that_would_wait_in_vain_is_not_asked_for(start: Serving) -> None:
    head = get(INFER, "Expect: 100-continue", "Transfer-Encoding: chunked", method="POST")
    with start() as server, Client(server) as client:
        answer = client.ask(head.replace(b"/m/", b"/n/"))
        assert (answer.status, answer.interim) == (404, [])
        assert client.ended()


def test_what_was_packed_counts_as_it_is_unpacked(start: Serving) -> None:
    gate = Gated()
    body = gzip.compress(infer(1.0) + b" " * 200_000)
    with start(model(gate), limits={"body": 300_000, "bodies": 300_000}) as server:
        gate.open = False
        with Client(server) as first, Client(server) as second:
            first.send(post(body, INFER, "Content-Encoding: gzip"))
            assert gate.begun.acquire(timeout=20)
            assert server._front.bodies >= 200_000
            answer = second.ask(post(body, INFER, "Content-Encoding: gzip"))
            assert (answer.status, answer.headers["retry-after"]) == (429, "1")
            gate.open = True
            gate.go.release()
            ok(first.answer(), 1.0)
            until(lambda: server._front.bodies == 0)
            ok(second.ask(post(body, INFER, "Content-Encoding: gzip")), 1.0)


def test_what_follows_a_head_request_is_answered_with_a_body(start: Serving) -> None:
    for wrong in (b"NONSENSE\r\n\r\n", get("/" + "a" * 5000), b"GET / HTTP/1.1\nHost: h\r\n\r\n"):
        with start() as server, Client(server) as client:
            assert client.send(get("/v2", method="HEAD")).answer(head_only=True).status == 200
            assert client.ask(wrong).error
            assert client.ended()
    with start(limits={"head_time": 0.2}) as server, Client(server) as client:
        assert client.send(get("/v2", method="HEAD")).answer(head_only=True).status == 200
        assert client.ask(b"GET /").error == "the head took longer than 0.2 s"


def test_a_large_body_that_would_wait_in_vain_is_not_asked_for(start: Serving) -> None:
    gate = Gated()
    head = get(INFER, "Expect: 100-continue", "Content-Length: 100000", method="POST")
    with start(model(gate, queue_requests=1)) as server, Client(server) as client:
        assert client.ask(head.replace(b"/m/", b"/n/")).status == 404
        gate.open = False
        waiting = [Client(server).send(post(infer(1.0)))]
        assert gate.begun.acquire(timeout=20)
        waiting.append(Client(server).send(post(infer(1.0))))
        until(lambda: server.engine.inside == 2)
        with Client(server) as late:
            answer = late.ask(head)
            assert (answer.status, answer.interim) == (429, [])
            assert late.ended()
        gate.open = True
        gate.go.release()
        for other in waiting:
            ok(other.answer(), 1.0)
            other.socket.close()


def test_a_large_body_lies_aligned_and_is_not_copied(start: Serving) -> None:
    seen: list[Any] = []

    def look(feed: dict[str, Any]) -> dict[str, Any]:
        seen.append((feed["x"].ctypes.data % 64, feed["x"].flags.owndata))
        return doubled(feed)

    x = np.arange(4 * 100_000, dtype=np.float32).reshape(-1, 4)
    body, line = binary(x)
    with start(model(look)) as server, Client(server) as client:
        answer = client.ask(post(body, INFER, line))
        length = int(answer.headers["inference-header-content-length"])
        np.testing.assert_array_equal(np.frombuffer(answer.body[length:], np.float32), x.ravel() * 2)
        assert seen[-1] == (0, False)
        until(lambda: server._front.bodies == 0)


def test_bytes_may_come_one_by_one(client: Client) -> None:
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request = b"\r\n" + post(infer(1.0)) + post(infer(2.0))
    for place in range(len(request)):
        client.send(request[place : place + 1])
    ok(client.answer(), 1.0)
    ok(client.answer(), 2.0)


@pytest.mark.parametrize("head", [post(b"", length=200_000), HEAD])
def test_a_body_that_comes_too_slowly_is_refused(start: Serving, head: bytes) -> None:
    with start(limits={"body_time": 0.3, "least_rate": 1e6}) as server, Client(server) as client:
        answer = client.ask(head + b"7\r\n1234567")
        assert (answer.status, answer.error) == (408, "the body came too slowly")
        assert client.ended()
        until(lambda: server._front.bodies == 0)


@pytest.mark.parametrize("cut", [1, 20, -200, -90, -1])
def test_a_request_may_be_cut_anywhere(client: Client, cut: int) -> None:
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request = post(infer(5.0))
    ok(client.ask(request), 5.0)  # so that its head is known
    client.send(request[:cut])
    threading.Event().wait(0.02)
    ok(client.ask(request[cut:]), 5.0)

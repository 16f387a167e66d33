from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np
import pytest

from hotlap.serve.serving import Server
from tests.serve.http.wired import (
    INFER,
    Answer,
    Client,
    Gated,
    binary,
    doubled,
    get,
    infer,
    model,
    post,
    rows,
    serving,
    until,
)

Serving = Callable[..., AbstractContextManager[Server]]


@pytest.fixture(params=["uvloop", "asyncio"], scope="module")
def uvloop(request: pytest.FixtureRequest) -> bool:
    if request.param == "uvloop":
        pytest.importorskip("uvloop")
    return bool(request.param == "uvloop")


@pytest.fixture
def start(uvloop: bool) -> Serving:
    return partial(serving, uvloop=uvloop)


@pytest.fixture(scope="module")
def plain(uvloop: bool) -> Iterator[Server]:
    """A server that tests share which leave nothing behind."""
    with serving(model(), uvloop=uvloop) as server:
        yield server


@pytest.fixture
def client(plain: Server) -> Iterator[Client]:
    with Client(plain) as client:
        yield client


def ok(answer: Answer, *values: float) -> None:
    assert answer.status == 200, answer.body
    np.testing.assert_array_equal(answer.y, rows(*values) * 2)


# ── requests and answers ──────────────────────────────────────────────────────────────────────────────


def test_a_request_is_answered(client: Client) -> None:
    answer = client.ask(post(infer(3.0, id="seven")))
    ok(answer, 3.0)
    assert answer.json["id"] == "seven" and answer.json["model_name"] == "m"
    assert answer.headers["content-type"] == "application/json"
    assert "connection" not in answer.headers
    assert [p.split(";")[0] for p in answer.headers["server-timing"].split(", ")] == [
        "parse", "queue", "compute", "encode",
    ]  # fmt: skip


def test_bytes_go_in_and_come_out(client: Client) -> None:
    x = rows(1.5, -2.0)
    body, line = binary(x)
    answer = client.ask(post(body, INFER, line))
    length = int(answer.headers["inference-header-content-length"])
    assert answer.headers["content-type"] == "application/octet-stream"
    np.testing.assert_array_equal(np.frombuffer(answer.body[length:], np.float32).reshape(2, 4), x * 2)


def test_the_same_head_again_is_read_with_its_own_body(client: Client) -> None:
    for value in (1.0, 2.0, 3.0):
        ok(client.ask(post(infer(value))), value)


def test_a_connection_may_ask_for_one_thing_and_then_another(client: Client) -> None:
    for _ in range(2):
        ok(client.ask(post(infer(1.0))), 1.0)
        assert client.ask(get("/v2/health/live")).json == {"live": True}
        ok(client.ask(post(infer(1.0, 2.0))), 1.0, 2.0)


def test_bytes_may_come_one_by_one(client: Client) -> None:
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request = b"\r\n" + post(infer(1.0)) + post(infer(2.0))
    for place in range(len(request)):
        client.send(request[place : place + 1])
    ok(client.answer(), 1.0)
    ok(client.answer(), 2.0)


@pytest.mark.parametrize("cut", [1, 20, -200, -90, -1])
def test_a_request_may_be_cut_anywhere(client: Client, cut: int) -> None:
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    request = post(infer(5.0))
    ok(client.ask(request), 5.0)  # so that its head is known
    client.send(request[:cut])
    threading.Event().wait(0.02)
    ok(client.ask(request[cut:]), 5.0)


def test_many_requests_at_once_are_answered_in_order(client: Client) -> None:
    values = [float(n) for n in range(300)]
    client.send(b"".join(post(infer(v)) for v in values))
    for value in values:
        ok(client.answer(), value)


def test_a_refused_request_is_answered_in_its_place(client: Client) -> None:
    client.send(post(infer(1.0)) + post(infer(2.0), "/v2/models/n/infer") + get("/x") + post(infer(3.0)))
    ok(client.answer(), 1.0)
    assert client.answer().status == 404
    assert client.answer().error == "no such address: /x"
    ok(client.answer(), 3.0)


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
        assert server._front.bodies == 0


# ── chunked bodies, Expect ────────────────────────────────────────────────────────────────────────────


def chunked(body: bytes, *sizes: int) -> bytes:
    out = b""
    for size in sizes:
        out += b"%x;note=1\r\n%b\r\n" % (size, body[:size])
        body = body[size:]
    return out + (b"%X\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\nTrailer: x\r\n\r\n"


HEAD = get(INFER, "Transfer-Encoding: chunked", method="POST")


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


# ── compression ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("count", [1, 50, 20_000])
def test_bodies_come_and_go_packed(client: Client, count: int) -> None:
    values = [float(n) for n in range(count)]
    lines = ("Content-Encoding: gzip", "Accept-Encoding: gzip")
    client.send(post(gzip.compress(infer(*values)), INFER, *lines) + post(infer(1.0)))
    answer = client.answer()
    assert ("content-encoding" in answer.headers) == (count > 1)
    if count > 1:
        assert answer.headers["content-encoding"] == "gzip"
        answer.body = gzip.decompress(answer.body)
    ok(answer, *values)
    ok(client.answer(), 1.0)


def test_what_cannot_be_unpacked_is_refused_and_the_connection_goes_on(client: Client) -> None:
    for body, status in (
        (b"x" * 10, 400),
        (b"x" * 10_000, 400),
        (gzip.compress(infer(1.0))[:-1], 400),
        (gzip.compress(bytes(65 << 20), 1), 413),
    ):
        answer = client.ask(post(body, INFER, "Content-Encoding: gzip"))
        assert answer.status == status and answer.error
    assert client.ask(post(b"x", INFER, "Content-Encoding: br")).status == 415
    ok(client.ask(post(infer(1.0))), 1.0)


def test_a_client_may_go_while_its_body_is_unpacked(start: Serving) -> None:
    with start() as server:
        for _ in range(5):
            Client(server).send(
                post(gzip.compress(bytes(1 << 20), 1) * 1, INFER, "Content-Encoding: gzip")
            ).vanish()
        until(lambda: not server._front.connections)


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


# ── methods, versions, the end of a connection ────────────────────────────────────────────────────────


def test_head_gets_the_header_lines_alone(client: Client) -> None:
    client.send(get("/v2/health/live", method="HEAD"))
    answer = client.answer(head_only=True)
    assert (answer.status, answer.headers["content-length"]) == (200, "13")
    ok(client.ask(post(infer(1.0))), 1.0)


def test_options_and_other_methods_are_told_what_there_is(client: Client) -> None:
    answer = client.ask(get(INFER, method="OPTIONS"))
    assert (answer.status, answer.headers["allow"], answer.body) == (204, "POST, OPTIONS", b"")
    assert client.ask(get("*", method="OPTIONS")).status == 204
    answer = client.ask(get("/v2/health/live", "Content-Length: 0", method="DELETE"))
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert client.ask(get(INFER)).status == 405


def test_a_whole_url_and_a_query_are_taken(client: Client) -> None:
    assert client.ask(get("http://somewhere/v2/health/live?x=1#y")).json == {"live": True}
    assert client.ask(get("/v2/models/%6D/ready")).status == 200
    assert client.ask(get("/v2/models/%ff/ready")).status == 400


def test_a_connection_ends_where_the_client_says_so(client: Client) -> None:
    answer = client.ask(post(infer(1.0), INFER, "Connection: close"))
    ok(answer, 1.0)
    assert answer.headers["connection"] == "close"
    assert client.ended()


def test_an_old_client_keeps_its_connection_only_where_it_asks_to(client: Client) -> None:
    answer = client.ask(post(infer(1.0), INFER, "Connection: keep-alive", version="1.0"))
    ok(answer, 1.0)
    assert answer.headers["connection"] == "keep-alive"
    assert client.ask(get("/v2/health/live", version="1.0")).headers["connection"] == "close"
    assert client.ended()


def test_an_offer_to_upgrade_is_not_taken(client: Client) -> None:
    assert client.ask(get("/v2/health/live", "Connection: Upgrade", "Upgrade: h2c")).status == 200
    assert client.ask(get("/v2/health/live")).status == 200


# ── clients that go, or half go ───────────────────────────────────────────────────────────────────────


def test_a_client_that_has_said_its_all_still_gets_its_answer(start: Serving) -> None:
    gate = Gated()
    with start(model(gate)) as server, Client(server) as client:
        gate.open = False
        client.send(post(infer(8.0)))
        client.socket.shutdown(socket.SHUT_WR)
        assert gate.begun.acquire(timeout=20)
        gate.go.release()
        answer = client.answer()
        ok(answer, 8.0)
        assert answer.headers["connection"] == "close"
        assert set(answer.interim) <= {100}
        assert client.ended()


@pytest.mark.parametrize("leave", [Client.vanish, lambda client: client.socket.close()])
def test_what_waits_for_a_client_that_has_gone_is_not_run(
    start: Serving, leave: Callable[[Client], None]
) -> None:
    gate = Gated()
    with start(model(gate)) as server, Client(server) as first:
        gate.open = False
        first.send(post(infer(1.0)))
        assert gate.begun.acquire(timeout=20)
        second = Client(server).send(post(infer(2.0)))
        until(lambda: server.engine.inside == 2)
        leave(second)
        until(lambda: server.engine.inside == 1)
        gate.go.release()
        ok(first.answer(), 1.0)
        assert gate.calls == 1
        until(lambda: len(server._front.connections) == 1)


def test_a_client_may_go_in_the_middle_of_anything(start: Serving) -> None:
    request = post(infer(1.0))
    big = post(b"x" * 200_000)
    with start() as server:
        for data in (b"", request[:10], request[:-5], big[:-5], HEAD + b"5\r\n123", request):
            with Client(server) as client:
                client.send(data)
            Client(server).send(data).vanish()
        until(lambda: not server._front.connections)
        assert (server._front.bodies, server.engine.inside) == (0, 0)
        with Client(server) as client:
            ok(client.ask(request), 1.0)


# ── slow clients ──────────────────────────────────────────────────────────────────────────────────────


def test_a_head_that_takes_too_long_is_refused(start: Serving) -> None:
    with start(limits={"head_time": 0.2}) as server, Client(server) as client:
        answer = client.ask(b"GET /v2/health/live HT")
        assert (answer.status, answer.error) == (408, "the head took longer than 0.2 s")
        assert client.ended()


def test_a_client_that_says_nothing_is_cut(start: Serving) -> None:
    with start(limits={"head_time": 0.2}) as server, Client(server) as client:
        assert client.ended()


def test_an_idle_connection_is_ended(start: Serving) -> None:
    with start(limits={"idle_time": 0.3}) as server, Client(server) as client:
        ok(client.ask(post(infer(1.0))), 1.0)
        assert client.ended()


@pytest.mark.parametrize("head", [post(b"", length=200_000), HEAD])
def test_a_body_that_comes_too_slowly_is_refused(start: Serving, head: bytes) -> None:
    with start(limits={"body_time": 0.3, "least_rate": 1e6}) as server, Client(server) as client:
        answer = client.ask(head + b"7\r\n1234567")
        assert (answer.status, answer.error) == (408, "the body came too slowly")
        assert client.ended()
        assert server._front.bodies == 0


def test_a_slow_body_that_keeps_the_least_rate_is_taken(start: Serving) -> None:
    body, line = binary(np.ones((10_000, 4), np.float32))
    with start(limits={"body_time": 0.1, "least_rate": 16e3}) as server, Client(server) as client:
        request = post(body, INFER, line)
        for place in range(0, len(request), 40_000):
            client.send(request[place : place + 40_000])
            threading.Event().wait(0.15)
        assert client.answer().status == 200


def test_a_client_that_does_not_read_is_cut(start: Serving) -> None:
    def large(feed: dict[str, Any]) -> dict[str, Any]:
        return {"y": np.zeros((500_000, 4), np.float32)}

    with (
        start(model(large), limits={"write_time": 0.3}) as server,
        Client(server, small=True) as client,
    ):
        client.send(post(infer(1.0)))
        until(lambda: len(server._front.connections) == 1)
        until(lambda: not server._front.connections)


# ── too much ──────────────────────────────────────────────────────────────────────────────────────────


def test_answers_that_nobody_reads_are_not_made_ahead(start: Serving) -> None:
    calls: list[float] = []

    def large(feed: dict[str, Any]) -> dict[str, Any]:
        calls.append(float(feed["x"][0, 0]))
        return {"y": np.repeat(feed["x"], 100_000, axis=0)}

    x = rows(3.0)
    body, line = binary(x)
    with start(model(large)) as server, Client(server, small=True) as client:
        calls.clear()
        sending = threading.Thread(target=client.send, args=(post(body, INFER, line) * 2000,), daemon=True)
        sending.start()
        until(lambda: len(calls) >= 1)
        threading.Event().wait(0.3)
        assert len(calls) < 20  # 1.6 MB each: what the sockets' buffers hold
        (connection,) = server._front.connections
        assert len(connection._tail) <= 1 << 18
        client.vanish()
        sending.join(timeout=20)
        until(lambda: not server._front.connections)


def test_one_connection_too_many_is_told_so(start: Serving) -> None:
    with start(limits={"connections": 2}) as server, Client(server) as a, Client(server) as b:
        assert a.ask(get("/v2/health/live")).status == b.ask(get("/v2/health/live")).status == 200
        with Client(server) as c:
            answer = c.answer()
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert c.ended()
        b.socket.close()
        until(lambda: len(server._front.connections) == 1)
        with Client(server) as c:
            assert c.ask(get("/v2/health/live")).status == 200


def test_bodies_may_take_so_much_memory_together_and_no_more(start: Serving) -> None:
    with (
        start(limits={"body": 200_000, "bodies": 300_000}) as server,
        Client(server) as a,
        Client(server) as b,
    ):
        a.send(post(b"", length=200_000))
        until(lambda: server._front.bodies == 200_000)
        answer = b.ask(post(b"", length=150_000))
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        a.socket.close()
        until(lambda: server._front.bodies == 0)


def test_a_full_queue_is_told_at_once(start: Serving) -> None:
    gate = Gated()
    with start(model(gate, queue_requests=1)) as server:
        gate.open = False
        clients = [Client(server).send(post(infer(1.0)))]
        assert gate.begun.acquire(timeout=20)
        clients.append(Client(server).send(post(infer(2.0))))
        until(lambda: server.engine.inside == 2)
        with Client(server) as third:
            answer = third.ask(post(infer(3.0)))
            assert (answer.status, answer.headers["retry-after"]) == (429, "1")
            gate.open = True
            gate.go.release()
            ok(clients[0].answer(), 1.0)
            ok(clients[1].answer(), 2.0)
            ok(third.ask(post(infer(3.0))), 3.0)  # the connection goes on
        for client in clients:
            client.socket.close()


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


# ── failures ──────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_model_cannot_take_is_the_clients_and_the_connection_goes_on(client: Client) -> None:
    body = infer(1.0).replace(b'"x"', b'"z"')
    answer = client.ask(post(body))
    assert answer.status == 400 and 'input "z"' in answer.error
    assert client.ask(post(b"{")).status == 400
    ok(client.ask(post(infer(1.0))), 1.0)


def test_a_model_that_fails_is_the_servers(start: Serving, caplog: pytest.LogCaptureFixture) -> None:
    def fail(feed: dict[str, Any]) -> dict[str, Any]:
        if feed["x"][0, 0] == 13:
            raise RuntimeError("a secret")
        return doubled(feed)

    with start(model(fail)) as server, Client(server) as client:
        answer = client.ask(post(infer(13.0)))
        assert (answer.status, answer.error) == (500, "internal error: the server's log says more")
        assert "a secret" in caplog.text
        ok(client.ask(post(infer(1.0))), 1.0)


def test_an_answer_that_comes_too_late_is_504(start: Serving) -> None:
    gate = Gated()
    with start(model(gate)) as server, Client(server) as client:
        gate.open = False
        answer = client.ask(post(infer(1.0, parameters={"timeout": 50_000})))
        assert answer.status == 504 and "deadline" in answer.error
        gate.open = True
        gate.go.release()
        ok(client.ask(post(infer(1.0))), 1.0)


def test_health_is_told_while_a_model_runs(start: Serving) -> None:
    gate = Gated()
    with start(model(gate)) as server, Client(server) as busy, Client(server) as other:
        gate.open = False
        busy.send(post(infer(1.0)))
        assert gate.begun.acquire(timeout=20)
        assert other.ask(get("/v2/health/ready")).json == {"ready": True}
        gate.go.release()
        ok(busy.answer(), 1.0)

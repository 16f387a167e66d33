from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hotlap.plan import Facts
from hotlap.tensors import TensorSpec
from tests.serve.http.wired import (
    HEAD,
    INFER,
    Client,
    Feed,
    Gated,
    Serving,
    X,
    Y,
    binary,
    doubled,
    get,
    infer,
    model,
    ok,
    post,
    rows,
    until,
)

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


def test_what_waits_to_be_unpacked_for_a_client_that_has_gone_is_not(start: Serving) -> None:
    bomb = post(gzip.compress(bytes(60_000_000), 9), INFER, "Content-Encoding: gzip")
    with start() as server:
        clients = [Client(server) for _ in range(100)]
        for client in clients:
            client.send(bomb)
        until(lambda: len(server._front.connections) == 100)
        for client in clients:
            client.vanish()
        until(lambda: not server._front.connections)
        with Client(server) as client:  # without waiting for a hundred others, which takes a minute
            client.socket.settimeout(10)
            assert client.ask(bomb).status == 400


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
        until(lambda: all(c._half for c in server._front.connections))
        gate.go.release()
        answer = client.answer()
        ok(answer, 8.0)
        assert answer.headers["connection"] == "close"
        assert set(answer.interim) <= {100}
        assert client.ended()


def test_all_that_a_client_has_said_before_it_closes_its_half_is_answered(start: Serving) -> None:
    gate = Gated()
    with start(model(gate)) as server, Client(server) as client:
        gate.open = False
        client.send(post(infer(1.0)) + post(infer(2.0)) + post(infer(3.0)) + b"GET /v2")
        client.socket.shutdown(socket.SHUT_WR)
        for value in (1.0, 2.0, 3.0):
            assert gate.begun.acquire(timeout=20)
            gate.go.release()
            ok(client.answer(), value)
        assert client.ended()


def test_what_is_asked_ahead_by_a_slow_reader_is_answered_after(start: Serving) -> None:
    """The time of the next request does not run while the answer before it is being taken."""

    def large(feed: Feed) -> Feed:
        return {"y": np.repeat(feed["x"], 250_000 if feed["x"][0, 0] == 1 else 1, axis=0)}

    body, line = binary(rows(1.0))
    with (
        start(model(large), limits={"head_time": 0.3, "idle_time": 0.3, "linger_time": 0.3}) as server,
        Client(server, small=True) as client,
    ):
        client.send(post(body, INFER, line) + post(infer(2.0)))
        for _ in range(8):
            client.rest += client.socket.recv(100_000)
            time.sleep(0.1)
        assert len(client.answer().body) > 4_000_000
        np.testing.assert_array_equal(client.answer().y, rows(2.0))


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
        until(lambda: (server._front.bodies, server.engine.inside) == (0, 0))
        with Client(server) as client:
            ok(client.ask(request), 1.0)


def test_requests_in_json_share_a_call_beside_an_input_without_rows(start: Serving) -> None:
    """Their text is longer than their arrays, and the input without rows larger than a row."""
    calls: list[int] = []
    gate = Gated()

    def scaled(feed: Feed) -> Feed:
        calls.append(len(feed["x"]))
        gate({"x": feed["x"]})
        time.sleep(0.003)
        return {"y": feed["x"] * feed["by"][0]}

    by = TensorSpec.of("by", "float32", [64])
    one = model(scaled, inputs=[X, by], max_batch=16)
    one.facts = Facts(rows="independent", axes={"x": 0, "y": 0})

    def request(value: float) -> bytes:
        x = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [value] * 4}
        other = {"name": "by", "datatype": "FP32", "shape": [64], "data": [2.0] * 64}
        return post(json.dumps({"inputs": [x, other]}).encode())

    with start(one) as server:
        calls.clear()
        gate.open = False
        clients = [Client(server) for _ in range(9)]
        clients[0].send(request(0.0))
        assert gate.begun.acquire(timeout=20)
        for number, client in enumerate(clients[1:], 1):
            client.send(request(number + 0.123456789))
        until(lambda: server.engine.inside == 9)
        gate.open = True
        gate.go.release()
        for client in clients:
            assert client.answer().status == 200
            client.socket.close()
        assert calls == [1, 8]


# ── slow clients ──────────────────────────────────────────────────────────────────────────────────────


def test_an_idle_connection_is_ended(start: Serving) -> None:
    with start(limits={"idle_time": 0.3}) as server, Client(server) as client:
        ok(client.ask(post(infer(1.0))), 1.0)
        assert client.ended()


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


def test_answers_that_many_clients_leave_unread_are_bounded(start: Serving) -> None:
    def large(feed: Feed) -> Feed:
        return {"y": np.zeros((250_000, 4), np.float32)}

    x, line = binary(rows(1.0))
    request = post(x, INFER, line)
    with start(model(large), limits={"answers": 10_000_000}) as server:
        lazy = [Client(server, small=True) for _ in range(8)]
        for client in lazy:
            client.send(request)
        until(lambda: not server.engine.inside and len(server._front.connections) == 8)
        until(lambda: server._front.answers > 4_000_000)
        assert server._front.answers <= 10_000_000
        with Client(server) as client:
            refused = client.ask(request)
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert "wait for their clients" in refused.error
        counted = server.engine.models["m"].statistics.requests
        assert counted["ok"].count + counted["refused"].count == 9
        for client in lazy:
            client.vanish()
        until(lambda: not server._front.connections)
        until(lambda: server._front.answers == 0)
        with Client(server) as client:
            assert client.ask(request).status == 200
            assert client.ask(request).status == 200
        until(lambda: server._front.answers == 0)


def test_lists_of_maps_are_no_trouble_while_another_client_reads_slowly(start: Serving) -> None:
    def both(feed: Feed) -> Feed:
        count = 250_000 if feed["x"][0, 0] == 1 else 1
        return {"y": np.repeat(feed["x"], count, axis=0), "maps": [{1: 0.5}]}

    outputs = [Y, TensorSpec("maps", "seq(map(int64,tensor(float)))")]
    x, line = binary(rows(1.0))
    with (
        start(model(both, outputs=outputs)) as server,
        Client(server, small=True) as lazy,
        Client(server) as client,
    ):
        lazy.send(post(x, INFER, line))
        until(lambda: server._front.answers > 0)
        np.testing.assert_array_equal(client.ask(post(infer(2.0))).y, rows(2.0))


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

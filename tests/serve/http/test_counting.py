"""Each request for a model is counted once, by how it ended, whatever happens to it on its way."""

from __future__ import annotations

import gzip
import threading
from contextlib import ExitStack

import numpy as np
import pytest

from hotlap.serve.http.arrival import CHUNKS, FILLING
from tests.serve.http.wired import (
    INFER,
    Client,
    Feed,
    Gated,
    counts,
    doubled,
    get,
    infer,
    model,
    post,
    serving,
    until,
)


def fails_on_two(feed: Feed) -> Feed:
    if (feed["x"] == 2).all():
        raise ValueError("the model's own")
    return doubled(feed)


def test_answers_and_refusals_of_all_kinds() -> None:
    one = model(fails_on_two)
    with serving(one) as server, Client(server) as client:
        assert client.ask(post(infer(1.0))).status == 200
        assert client.ask(post(infer(2.0))).status == 500
        assert client.ask(post(b"{")).status == 400
        assert client.ask(post(b'{"inputs": []}')).status == 400
        assert client.ask(post(infer(3.0), "/v2/models/nobody/infer")).status == 404
        assert client.ask(post(infer(3.0), "/v2/models/m/versions/9/infer")).status == 404
        assert client.ask(post(infer(4.0))).status == 200
        assert counts(one) == {"ok": 2, "failed": 1, "invalid": 3}
        counted = one.statistics
        assert (counted.execution_count, counted.inference_count) == (2, 2)
        parts = counted.parse.ns + counted.queue.ns + counted.compute.ns + counted.encode.ns
        assert counted.requests["ok"].ns == parts > 0


def test_what_is_refused_before_it_is_whole_counts_too() -> None:
    one = model()
    limits = {"body": 1000, "body_time": 0.2, "least_rate": 1e9}
    chunked = get(INFER, "Transfer-Encoding: chunked", method="POST")
    with serving(one, limits=limits) as server:

        def status(request: bytes) -> int:
            with Client(server) as client:
                return client.ask(request).status

        assert status(post(b"", length=1001)) == 413
        assert status(chunked + b"FFFF\r\n") == 413
        assert status(chunked + b"odd\r\n") == 400
        assert status(post(b"x", INFER, "Content-Encoding: br")) == 415
        assert status(post(b"x", INFER, "Inference-Header-Content-Length: x")) == 400
        assert status(post(b"x", length=2)) == 408
        assert counts(one) == {"invalid": 6}


def test_a_body_without_room_counts_and_so_does_one_whose_client_goes_in_the_middle() -> None:
    one = model()
    with serving(one, limits={"body": 1000, "bodies": 1500}) as server:
        with Client(server) as waits:
            waits.send(post(b"x" * 990, length=1000))
            until(lambda: server._front.bodies == 990)
            with Client(server) as client:
                assert client.ask(post(b"x", length=900)).status == 429
            assert counts(one) == {"refused": 1}
        until(lambda: counts(one) == {"refused": 1, "dropped": 1})


def test_who_may_not_come_in_is_not_counted() -> None:
    one = model()
    bearer = "Authorization: Bearer abc"
    with serving(one, token="abc") as server, Client(server) as client:
        assert client.ask(post(infer(1.0), INFER, bearer)).status == 200
        assert client.ask(post(infer(1.0))).status == 401
        assert client.ask(post(b"", INFER, length=100 << 20)).status == 401
        assert counts(one) == {"ok": 1}


def test_an_answer_that_cannot_be_told_is_no_answer() -> None:
    one = model(lambda feed: {"y": object()})
    with serving(one) as server, Client(server) as client:
        assert client.ask(post(infer(1.0))).status == 500
        assert counts(one) == {"failed": 1}


def test_a_model_that_fails_is_told_so_whatever_waits_to_be_read() -> None:
    def large_or_failed(feed: Feed) -> Feed:
        return {"y": np.repeat(fails_on_two(feed)["y"], 500_000, axis=0)}

    one = model(large_or_failed)
    with serving(one, limits={"answers": 1_000_000}) as server, Client(server, small=True) as lazy:
        lazy.send(post(infer(1.0)))
        until(lambda: server._front.answers > 1_000_000)
        with Client(server) as client:
            assert client.ask(post(infer(2.0))).status == 500
        assert counts(one) == {"ok": 1, "failed": 1}


def test_full_queues_deadlines_and_clients_that_go() -> None:
    gate = Gated()
    one = model(gate, queue_requests=1)
    with serving(one) as server, ExitStack() as stack:
        first, gone, late, refused = (stack.enter_context(Client(server)) for _ in range(4))
        gate.open = False
        first.send(post(infer(1.0)))
        assert gate.begun.acquire(timeout=20)
        gone.send(post(infer(2.0)))
        until(lambda: server.engine.inside == 2)
        assert refused.ask(post(infer(3.0))).status == 429
        gone.vanish()
        until(lambda: server.engine.inside == 1)
        assert late.ask(post(infer(4.0, parameters={"timeout": 100_000}))).status == 504
        gate.go.release()
        assert first.answer().status == 200
        assert counts(one) == {"ok": 1, "dropped": 1, "late": 1, "refused": 1}
        assert one.statistics.requests["late"].ns >= 99_000_000


def test_models_are_counted_apart() -> None:
    both = [model(name=name) for name in ("m", "n")]
    with serving(*both) as server, Client(server) as client:
        for path in ("m", "n", "n"):
            assert client.ask(post(infer(1.0), f"/v2/models/{path}/infer")).status == 200
        assert [counts(one) for one in both] == [{"ok": 1}, {"ok": 2}]


def test_clients_that_go_before_the_request_is_whole() -> None:
    one = model()
    chunked = get(INFER, "Transfer-Encoding: chunked", method="POST")
    with serving(one) as server:
        for number, request in enumerate((post(b"x", length=1000), chunked + b"5\r\nabc"), 1):
            with Client(server) as client:
                client.send(request)
                until(lambda: len(server._front.connections) == 1)
                until(lambda: all(c._phase in (FILLING, CHUNKS) for c in server._front.connections))
            until(lambda: not server._front.connections)
            assert counts(one) == {"dropped": number}
        with Client(server) as client:  # it asked no model
            client.send(post(b"x", "/v2/logging", length=1000))
            until(lambda: len(server._front.connections) == 1)
        with Client(server) as client:  # there is no request
            client.send(b"POST ")
            until(lambda: len(server._front.connections) == 1)
        until(lambda: not server._front.connections)
        assert counts(one) == {"dropped": 2}


@pytest.mark.parametrize("side", ["unpacked", "packed"])
def test_clients_that_go_while_something_is_packed_or_unpacked(
    side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = model()
    begun, go = threading.Event(), threading.Event()
    with serving(one) as server:
        inference = server._front.inference
        work = getattr(inference, side)

        def waits(*given: object) -> object:
            begun.set()
            assert go.wait(20)
            return work(*given)

        monkeypatch.setattr(inference, side, waits)
        body = infer(*np.random.default_rng(0).random(5_000).tolist())
        with Client(server) as client:
            if side == "unpacked":
                client.send(post(gzip.compress(body), INFER, "Content-Encoding: gzip"))
            else:
                client.send(post(body, INFER, "Accept-Encoding: gzip"))
            assert begun.wait(20)
            client.vanish()
            until(lambda: not server._front.connections)
        go.set()
        assert counts(one) == {"dropped" if side == "unpacked" else "ok": 1}

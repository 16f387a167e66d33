from __future__ import annotations

import gzip
import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlap
from benchmarks import mlp
from hotlap.errors import InputError
from hotlap.plan import Facts
from hotlap.runtime.probe.alike import SAME_SHAPE, gap
from hotlap.serve.http.connection import Connection
from hotlap.serve.http.turn import PATIENCE, SMALL, Request, Turn
from hotlap.serve.inline import TOGETHER
from hotlap.serve.job import Job
from hotlap.serve.loading import load
from hotlap.serve.pays import Curve, Pays
from hotlap.serve.serving import Server
from hotlap.tensors import TensorSpec
from hotlap.verify.levels import NOISE_FACTOR
from tests.serve.http.turning import ROWS, at_once, clients, halted, short, together
from tests.serve.http.wired import (
    Answer,
    Client,
    Feed,
    Gated,
    Serving,
    X,
    counts,
    doubled,
    get,
    infer,
    model,
    ok,
    post,
    rows,
    until,
)


def test_requests_that_come_together_share_a_call(start: Serving) -> None:
    one = short()
    with together(start, one) as server, clients(server, 8) as asking:
        at_once(server, asking)
        for n, client in enumerate(asking):
            ok(client.answer(), float(n))
        assert [len(feed["x"]) for feed in one.runner.calls] == [8]  # type: ignore[attr-defined]
        counted = one.statistics
        assert (counted.inference_count, counted.execution_count) == (8, 1)
        assert counts(one) == {"ok": 8}
        parts = counted.parse.ns + counted.queue.ns + counted.compute.ns + counted.encode.ns
        assert counted.requests["ok"].ns == parts > 0


def test_a_request_that_comes_alone_is_run_alone(start: Serving) -> None:
    one = short()
    with together(start, one) as server, Client(server) as client:
        for n in range(3):
            ok(client.ask(post(infer(float(n)))), float(n))
        assert [len(feed["x"]) for feed in one.runner.calls] == [1, 1, 1]  # type: ignore[attr-defined]


def test_requests_that_can_share_no_call_are_taken_up_together_all_the_same(start: Serving) -> None:
    one = short(facts=Facts())
    with together(start, one) as server, clients(server, 4) as asking:
        at_once(server, asking)
        answers = [client.answer() for client in asking]
        for n, answer in enumerate(answers):
            ok(answer, float(n))
        assert [len(feed["x"]) for feed in one.runner.calls] == [1, 1, 1, 1]  # type: ignore[attr-defined]
        assert one.statistics.execution_count == 4
        # All were read before the first was computed: it is the one that waited least.
        assert one.statistics.queue.ns > 0


def test_calls_have_rows_by_powers_of_two(start: Serving) -> None:
    """As they were measured; so a session sees few shapes."""
    one = short()
    with together(start, one) as server, clients(server, 13) as asking:
        at_once(server, asking)
        for n, client in enumerate(asking):
            ok(client.answer(), float(n))
        assert [len(feed["x"]) for feed in one.runner.calls] == [8, 4, 1]  # type: ignore[attr-defined]


def test_more_than_are_taken_up_together_are_all_answered(start: Serving) -> None:
    one = short()
    with together(start, one) as server, clients(server, 2 * TOGETHER + 5) as asking:
        at_once(server, asking)
        for n, client in enumerate(asking):
            ok(client.answer(), float(n))
        lengths = [len(feed["x"]) for feed in one.runner.calls]  # type: ignore[attr-defined]
        assert sum(lengths) == len(asking) and max(lengths) == TOGETHER


def test_a_bad_request_among_others_fails_alone(start: Serving) -> None:
    one = short()
    with together(start, one) as server, clients(server, 5) as asking:
        with halted(server):
            asking[0].send(post(infer(0.0)))
            asking[1].send(post(b'{"inputs": []}'))
            asking[2].send(post(infer(2.0, parameters={"timeout": 1})))  # a microsecond
            asking[3].send(post(infer(3.0, outputs=[{"name": "z"}])))
            asking[4].send(post(infer(4.0)))
        assert [client.answer().status for client in asking[1:4]] == [400, 504, 400]
        ok(asking[0].answer(), 0.0)
        ok(asking[4].answer(), 4.0)
        assert counts(one) == {"ok": 2, "invalid": 2, "late": 1}
        for client in asking:  # every connection lives
            ok(client.ask(post(infer(1.0))), 1.0)


def test_a_row_that_the_model_fails_on_fails_alone(start: Serving) -> None:
    def fails_on_two(feed: Feed) -> Feed:
        if (feed["x"] == 2).any():
            raise InputError("not this one")
        return doubled(feed)

    one = short(fails_on_two)
    with together(start, one) as server, clients(server, 4) as asking:
        at_once(server, asking)
        for n in (0, 1, 3):
            ok(asking[n].answer(), float(n))
        assert asking[2].answer().status == 400
        assert counts(one) == {"ok": 3, "invalid": 1}


def test_each_keeps_its_id_its_outputs_and_its_rows(start: Serving) -> None:
    one = short()
    with together(start, one) as server, clients(server, 3) as asking:
        with halted(server):
            asking[0].send(post(infer(1.0, 2.0, id="two")))
            asking[1].send(post(infer(3.0, outputs=[{"name": "y"}])))
            asking[2].send(post(infer(4.0, 5.0, 6.0, id="three")))
        first, second, third = (client.answer() for client in asking)
        ok(first, 1.0, 2.0)
        ok(second, 3.0)
        ok(third, 4.0, 5.0, 6.0)
        assert (first.json["id"], "id" in second.json, third.json["id"]) == ("two", False, "three")


def test_what_a_client_sends_ahead_is_answered_in_order(start: Serving) -> None:
    one = short()
    with together(start, one) as server, clients(server, 2) as asking:
        with halted(server):
            asking[0].send(post(infer(1.0)) + post(infer(2.0)) + get("/x") + post(infer(3.0)))
            asking[1].send(post(infer(4.0)))
        ok(asking[0].answer(), 1.0)
        ok(asking[0].answer(), 2.0)
        assert asking[0].answer().status == 404
        ok(asking[0].answer(), 3.0)
        ok(asking[1].answer(), 4.0)


def test_a_connection_that_ends_with_its_answer_has_it_first(start: Serving) -> None:
    one = short()
    with together(start, one) as server, clients(server, 3) as asking:
        with halted(server):
            asking[0].send(post(infer(1.0)))
            asking[1].send(post(infer(2.0), "/v2/models/m/infer", "Connection: close"))
            asking[2].send(post(infer(3.0))).socket.shutdown(1)
        for n, client in enumerate(asking, 1):
            ok(client.answer(), float(n))
        assert asking[1].ended() and asking[2].ended()
        ok(asking[0].ask(post(infer(1.0))), 1.0)


def test_what_was_read_before_the_server_stops_is_answered(start: Serving) -> None:
    one = short()
    with together(start, one) as server, clients(server, 3) as asking:
        assert server._stop is not None
        with halted(server, server._stop.set):
            for n, client in enumerate(asking):
                client.send(post(infer(float(n))))
        for n, client in enumerate(asking):
            ok(client.answer(), float(n))
            assert client.ended()
        assert counts(one) == {"ok": 3}


def test_a_client_that_goes_before_its_turn_is_counted_and_in_nobodys_way(
    start: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = short()
    take_up, cut = Turn.take_up, threading.Event()

    def late(turn: Turn) -> None:
        """One connection is cut between reading and taking up, and the loop has a turn to notice."""
        if not cut.is_set():
            cut.set()
            turn._waiting[0][0].cut()
            assert turn._loop is not None
            turn._loop.call_soon(turn.take_up)
        else:
            take_up(turn)

    with together(start, one) as server, clients(server, 3) as asking:
        monkeypatch.setattr(Turn, "take_up", late)
        at_once(server, asking)
        assert [_gone(client) for client in asking].count(True) == 1
        until(lambda: counts(one) == {"ok": 2, "dropped": 1})


def _gone(client: Client) -> bool:
    try:
        return client.answer().status != 200
    except ConnectionError:
        return True


def test_rows_that_depend_on_a_shared_input_share_only_with_their_equals(start: Serving) -> None:
    scale = TensorSpec.of("scale", "float32", [])

    def scaled(feed: Feed) -> Feed:
        return {"y": feed["x"] * feed["scale"]}

    one = short(scaled, inputs=[X, scale])

    with together(start, one) as server, clients(server, 4) as asking:
        with halted(server):
            for n, (client, by) in enumerate(zip(asking, (2.0, 3.0, 2.0, 3.0), strict=True)):
                client.send(_scaled(float(n), by))
        for n, (client, by) in enumerate(zip(asking, (2.0, 3.0, 2.0, 3.0), strict=True)):
            np.testing.assert_array_equal(client.answer().y, rows(float(n)) * by)
        assert [len(feed["x"]) for feed in one.runner.calls] == [2, 2]  # type: ignore[attr-defined]


def test_a_model_that_mixes_its_rows_is_not_batched_again(
    start: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    one = short(lambda feed: {"y": feed["x"][:1] * 2})
    with together(start, one) as server, clients(server, 4) as asking:
        with caplog.at_level(logging.WARNING, "hotlap.serve"), halted(server):
            for n, client in enumerate(asking):
                client.send(post(infer(float(n))))
        for n, client in enumerate(asking):
            ok(client.answer(), float(n))
        assert one.runner.calls and all(len(f["x"]) == 1 for f in one.runner.calls[1:])  # type: ignore[attr-defined]
        assert "its requests share no call any more" in caplog.text
        ok(asking[0].ask(post(infer(1.0))), 1.0)


def test_the_answers_of_a_call_that_a_lane_ran_are_written_together_too(
    start: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    write = Turn._write
    monkeypatch.setattr(Turn, "_write", lambda turn: (written.append(len(turn._unsent)), write(turn)))
    gated = Gated()
    one = model(gated, max_batch=8)
    one.facts = ROWS
    with start(one) as server, clients(server, 4) as asking:
        track = server.engine._tracks[one]
        track._pays = Pays(Curve(16, {1: 1.0, 8: 1.0}))
        track._queue.pays = track._pays.rows
        gated.open = False
        asking[0].send(post(infer(0.0)))
        assert gated.begun.acquire(timeout=20)
        for n in (1, 2, 3):
            asking[n].send(post(infer(float(n))))
        until(lambda: server.engine.load(one).waiting == 3)
        gated.open = True
        gated.go.release()
        for n, client in enumerate(asking):
            ok(client.answer(), float(n))
    assert written == [3]


def test_a_real_model_answers_alone_bit_for_bit_and_in_company_by_the_level_exact(
    start: Serving, tmp_path: Path
) -> None:
    feeds = mlp.feeds(24)
    file = mlp.write(tmp_path / "m.onnx", hidden=64)
    (one,) = load([file], instead={"inline": True, "lanes": 1})
    assert one.facts.rows == "independent"
    plain = {"graph_optimization_level": "ORT_DISABLE_ALL"}
    with hotlap.open(file, threads=1) as runner, hotlap.open(file, threads=1, session=plain) as otherwise:
        alone = [runner.run(feed)["y"] for feed in feeds]
        noise = [gap(otherwise.run(feed)["y"], y) for feed, y in zip(feeds, alone, strict=True)]
        requests = [post(_asked(feed["x"])) for feed in feeds]
        with together(start, one) as server, clients(server, len(feeds)) as asking:
            for client, request, y in zip(asking, requests, alone, strict=True):
                np.testing.assert_array_equal(client.ask(request).y, y)
            calls = one.statistics.execution_count
            with halted(server):
                for client, request in zip(asking, requests, strict=True):
                    client.send(request)
            for client, y, near in zip(asking, alone, noise, strict=True):
                assert gap(client.answer().y, y) <= NOISE_FACTOR * near + SAME_SHAPE
            assert one.statistics.execution_count < calls + len(feeds), "some shared a call"


def _asked(x: Any) -> bytes:
    tensor = {"name": "x", "datatype": "FP32", "shape": x.shape, "data": x.ravel().tolist()}
    return json.dumps({"inputs": [tensor]}).encode()


def test_rows_that_the_model_fails_on_do_not_make_its_calls_slow(start: Serving) -> None:
    def fails(feed: Feed) -> Feed:
        if (feed["x"] == 2).any():
            time.sleep(0.002)
            raise InputError("not this one")
        return doubled(feed)

    one = short(fails)
    with together(start, one, slow=0.003) as server, clients(server, 8) as asking:
        for _ in range(4):
            with halted(server):
                for client in asking:
                    client.send(post(infer(2.0)))
            assert [client.answer().status for client in asking] == [400] * 8
        assert one.together == TOGETHER, "no call took longer than it may, all of a failed batch together did"


def test_a_large_body_is_not_waited_for(start: Serving) -> None:
    """The small request that came before it is computed first, and the large one has a call of its own."""
    one = short()
    with together(start, one) as server, clients(server, 3) as asking:
        large = [float(n) for n in range(SMALL // 8)]
        with halted(server):
            asking[0].send(post(infer(1.0)))
            asking[1].send(post(infer(2.0)))
            asking[2].send(post(infer(*large)))
        ok(asking[0].answer(), 1.0)
        ok(asking[1].answer(), 2.0)
        ok(asking[2].answer(), *large)
        assert sorted(len(feed["x"]) for feed in one.runner.calls)[:2] in ([1, 1], [2, len(large)])  # type: ignore[attr-defined]


def test_a_request_waits_for_further_ones_to_be_read_and_no_longer_than_so() -> None:
    taken: list[list[Any]] = []

    class Desk:
        def submit_all(self, jobs: list[Any]) -> None:
            taken.append(jobs)

    class Asking:
        def decoded(self, request: Request) -> Any:
            return request.arrived

        def take_up(self, request: Request) -> None:
            taken.append([request.arrived])

    class Loop:
        def call_soon(self, what: Any) -> None:
            pass

    turn: Any = Turn(Desk())  # type: ignore[arg-type]
    turn.start(Loop())

    def request(arrived: int, nbytes: int = 10) -> Any:
        return Request(None, bytes(nbytes), arrived)  # type: ignore[arg-type]

    for arrived in (1, 2, PATIENCE + 1):
        turn.add(Asking(), request(arrived), 32)
    assert taken == []
    turn.add(Asking(), request(PATIENCE + 2), 32)
    assert taken == [[1, 2, PATIENCE + 1, PATIENCE + 2]]
    for arrived in range(9):  # so many bytes are enough
        turn.add(Asking(), request(arrived, SMALL), 32)
    assert taken[1:] == [list(range(9))]
    for other in (request(5), request(6, SMALL + 1)):
        turn.add(Asking(), request(4), 32)
        turn.make_way(other)
    assert taken[2:] == [[4, 4]], "small ones are not made way for, large ones are"
    turn.add(Asking(), request(7), 32)
    turn.make_way(request(7 + PATIENCE + 1))
    assert taken[3:] == [[7]]


def test_an_answer_waits_for_others_and_no_longer_than_so(start: Serving) -> None:
    """The first one is sent while the calls of the others still go on."""
    scale = TensorSpec.of("scale", "float32", [])
    go = threading.Event()

    def waits(feed: Feed) -> Feed:
        if feed["scale"] == 3:
            assert go.wait(20)
        elif feed["scale"] == 2:
            time.sleep(0.005)
        return {"y": feed["x"] * feed["scale"]}

    one = short(waits, inputs=[X, scale])
    with together(start, one, patience=PATIENCE) as server, clients(server, 3) as asking:
        with halted(server):
            for client, by in zip(asking, (1.0, 2.0, 3.0), strict=True):
                client.send(_scaled(4.0, by))
        answers = [asking[0].answer(), asking[1].answer()]
        go.set()
        answers.append(asking[2].answer())
        for by, answer in enumerate(answers, 1):
            np.testing.assert_array_equal(answer.y, rows(4.0) * by)


def test_calls_that_turn_out_slow_leave_the_loop_in_the_middle_of_a_turn(
    start: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    threads: list[str] = []

    def slow(feed: Feed) -> Feed:
        threads.append(threading.current_thread().name)
        time.sleep(0.03 if threads[-1:] != ["MainThread"] and len(feed["x"]) == 2 else 0)
        return doubled(feed)

    one = short(slow)
    with together(start, one, slow=0.02) as server, clients(server, 12) as asking:
        server.engine._tracks[one]._pays = Pays(Curve(16, {1: 1.0, 2: 1.0}))
        threads.clear()
        with caplog.at_level(logging.WARNING, "hotlap.serve"), halted(server):
            for n, client in enumerate(asking):
                client.send(post(infer(float(n))))
        for n, client in enumerate(asking):
            ok(client.answer(), float(n))
        assert one.together == 1
        lanes = [name for name in threads if name.startswith("hotlap-m-")]
        assert len(threads) - len(lanes) == 3, "calls on the loop"
    assert caplog.text.count("became slow") == 1


def test_a_deadline_passes_while_others_are_computed(start: Serving) -> None:
    def slow(feed: Feed) -> Feed:
        time.sleep(0.05 if len(feed["x"]) == 2 else 0)
        return doubled(feed)

    one = short(slow)
    with together(start, one) as server, clients(server, 6) as asking:
        server.engine._tracks[one]._pays = Pays(Curve(16, {1: 1.0, 2: 1.0}))
        with halted(server):
            for n, client in enumerate(asking):
                more = {"parameters": {"timeout": 500_000}} if n < 2 else {"parameters": {"timeout": 1_000}}
                client.send(post(infer(float(n), **more)))
            # Held up for longer than a millisecond none of these would be computed at all.
        statuses = [client.answer().status for client in asking]
        assert statuses[:2] == [200, 200]
        assert set(statuses[2:]) == {504}


def _scaled(value: float, by: float) -> bytes:
    tensors = json.loads(infer(value))
    tensors["inputs"].append({"name": "scale", "datatype": "FP32", "shape": [], "data": [by]})
    return post(json.dumps(tensors).encode())


def test_what_clients_send_ahead_keeps_nobody_from_the_loop(
    start: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much of it there is, the loop has a turn after each answer of a client."""
    taken: list[int] = []
    take_up = Turn.take_up
    monkeypatch.setattr(Turn, "take_up", lambda turn: (taken.append(len(turn._waiting)), take_up(turn)))
    one = short()
    with together(start, one) as server, clients(server, 40) as asking:
        with halted(server):
            for n, client in enumerate(asking):
                client.send(post(infer(float(n))) * 20)
        for n, client in enumerate(asking):
            for _ in range(20):
                ok(client.answer(), float(n))
    assert sum(taken) == 40 * 20 and max(taken) <= 40


def test_of_an_answer_what_was_spent_on_others_is_waiting_not_reading(start: Serving) -> None:
    one = short()
    with together(start, one) as server, clients(server, 8) as asking:
        slowed(server, "begin", 0.002)
        at_once(server, asking)
        parts = [_parts(client.answer()) for client in asking]
        # Each took 2 ms to read; the first waited for the seven others.
        assert all(2 <= part["parse"] < 8 for part in parts), parts
        assert max(part["queue"] for part in parts) >= 7 * 2
        # One that comes alone while something else keeps the loop busy waits for that, too.
        with halted(server):
            asking[0].send(post(infer(1.0)))
            server._loop.call_soon_threadsafe(time.sleep, 0.01)  # type: ignore[union-attr]
        assert 2 <= _parts(asking[0].answer())["parse"] < 10


def test_unpacking_is_reading(start: Serving) -> None:
    one = short()
    with together(start, one) as server, clients(server, 2) as asking:
        slowed(server, "unpacked", 0.005)
        with halted(server):
            for n, client in enumerate(asking):
                body = gzip.compress(infer(float(n)))
                client.send(post(body, "/v2/models/m/infer", "Content-Encoding: gzip"))
        assert all(_parts(client.answer())["parse"] >= 5 for client in asking)


def slowed(server: Server, step: str, seconds: float) -> None:
    """That step of the server's `Inference` takes so much longer."""
    inference = server._front.inference
    plain = getattr(inference, step)

    def slowly(*args: Any) -> Any:
        time.sleep(seconds)
        return plain(*args)

    setattr(inference, step, slowly)


def _parts(answer: Answer) -> dict[str, float]:
    """Milliseconds of Server-Timing."""
    found = (part.split(";dur=") for part in answer.headers["server-timing"].split(", "))
    return {name: float(value) for name, value in found}


def test_a_request_whose_reading_breaks_down_ends_its_own_connection_alone(
    start: Serving, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = short()
    decoded = Connection.decoded

    def breaks(connection: Connection, request: Request) -> Job | None:
        if b"13" in request.body:
            raise RuntimeError("no such request")
        return decoded(connection, request)

    monkeypatch.setattr(Connection, "decoded", breaks)
    with together(start, one) as server, clients(server, 3) as asking:
        with halted(server):
            for value, client in zip((1.0, 13.0, 2.0), asking, strict=True):
                client.send(post(infer(value)))
        ok(asking[0].answer(), 1.0)
        ok(asking[2].answer(), 2.0)
        assert _gone(asking[1])
    assert "a request could not be read" in caplog.text


def test_an_answer_that_cannot_be_written_keeps_no_other_back(caplog: pytest.LogCaptureFixture) -> None:
    done: list[Any] = []

    class Broken:
        def send(self, answer: bytes) -> None:
            raise RuntimeError("the transport is closed")

        def cut(self) -> None:
            done.append("cut")

    class Sound:
        def send(self, answer: bytes) -> None:
            done.append(answer)

    turn: Any = Turn(None)  # type: ignore[arg-type]
    with turn.holding():
        turn.hold(Broken(), b"a")
        with turn.holding():
            turn.hold(Sound(), b"b")
        assert done == []
    assert done == ["cut", b"b"]
    assert "an answer could not be written" in caplog.text

from __future__ import annotations

import gc
import json
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import onnx
import pytest

from hotlap.errors import MissingExtra, ModelError, UsageError
from hotlap.serve import serving as module
from hotlap.serve.http.limits import Limits
from hotlap.serve.listening import Listener
from hotlap.serve.loading import load
from hotlap.serve.serving import Server
from hotlap.tensors import TensorSpec
from tests import tiny
from tests.serve.http.turning import halted
from tests.serve.http.wired import (
    Client,
    Gated,
    doubled,
    get,
    infer,
    model,
    ok,
    post,
    rows,
    serving,
    until,
)


@pytest.fixture(params=["uvloop", "asyncio"])
def uvloop(request: pytest.FixtureRequest) -> bool:
    if request.param == "uvloop":
        pytest.importorskip("uvloop")
    return bool(request.param == "uvloop")


def slow(feed: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.002)
    return doubled(feed)


# ── start and end ─────────────────────────────────────────────────────────────────────────────────────


def test_a_server_starts_and_ends(uvloop: bool) -> None:
    server = Server([model()], uvloop=uvloop)
    with server, Client(server) as client:
        assert server.url.startswith("http://127.0.0.1:")
        assert client.ask(get("/v2/health/ready")).status == 200
    server.close()
    server.stop()
    with pytest.raises(OSError):
        Client(server)


def test_who_stops_it_before_it_runs_has_stopped_it(uvloop: bool) -> None:
    server = Server([model()], uvloop=uvloop)
    server.stop()
    server.run()
    server = Server([model()], uvloop=uvloop)
    server.stop()
    server.start().close()


def test_whoever_stops_it_while_it_is_warmed_sees_no_traceback(
    uvloop: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failed: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    gate = Gated()
    gate.open = False
    server = Server([model(gate)], uvloop=uvloop)
    starting = threading.Thread(target=server.start, daemon=True)
    starting.start()
    assert gate.begun.acquire(timeout=20)
    server.stop()
    until(lambda: server.engine.draining)
    gate.open = True
    gate.go.release(100)
    server.close()
    starting.join(timeout=20)
    assert failed == [] and "exception" not in caplog.text.lower()


@pytest.fixture
def thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_a_program_that_serves_beside_other_things_keeps_its_collector(thawed: None) -> None:
    with serving():
        assert gc.get_freeze_count() == 0


def test_a_process_that_only_serves_hides_what_stays_from_the_collector(
    thawed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_stop_at_signals", lambda loop, stop: None)
    frozen: list[int] = []

    def ready(server: Server) -> None:
        frozen.append(gc.get_freeze_count())
        server.stop()

    listener = Listener()
    listener.add_port("127.0.0.1", 0)
    module.serve([model()], listener, ready=ready)
    assert frozen[0] > 0 and gc.get_freeze_count() == 0


def test_what_the_program_has_frozen_itself_stays_so(thawed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_stop_at_signals", lambda loop, stop: None)
    listener = Listener()
    listener.add_port("127.0.0.1", 0)
    gc.freeze()
    before = gc.get_freeze_count()
    module.serve([model()], listener, ready=Server.stop)
    assert 0 < gc.get_freeze_count() <= before


def test_many_may_wait_to_be_taken_up(uvloop: bool) -> None:
    """The event loops bound them to a hundred."""
    gate = Gated()
    with Server([model(gate, inline=True)], uvloop=uvloop) as server, Client(server) as client:
        where = urlsplit(server.url)
        gate.open = False
        client.send(post(infer(1.0)))
        assert gate.begun.acquire(timeout=20)  # the event loop is busy from now on
        gate.open = True
        try:
            address = (where.hostname, where.port)
            waiting = [socket.create_connection(address, timeout=0.9) for _ in range(300)]
        finally:
            gate.go.release()
        ok(client.answer(), 1.0)
        until(lambda: len(server._front.connections) == 301)
        for one in waiting:
            one.close()


def test_several_models_have_their_own_addresses(uvloop: bool) -> None:
    def negated(feed: dict[str, Any]) -> dict[str, Any]:
        return {"y": -feed["x"]}

    with serving(model(), model(negated, "a b/ü"), uvloop=uvloop) as server, Client(server) as client:
        assert client.ask(post(infer(1.0))).y[0, 0] == 2
        assert client.ask(post(infer(1.0), "/v2/models/a%20b%2F%C3%BC/infer")).y[0, 0] == -1
        assert client.ask(post(infer(1.0), "/v2/models/m/versions/1/infer")).y[0, 0] == 2
        answer = client.ask(post(infer(1.0), "/v2/models/m/versions/2/infer"))
        assert (answer.status, answer.error) == (404, 'model "m" has version 1, not "2"')


def test_a_model_that_cannot_be_warmed_is_told_to_whoever_starts_the_server() -> None:
    def fail(feed: dict[str, Any]) -> dict[str, Any]:
        raise SystemError("broken")

    with pytest.raises(SystemError, match="broken"):
        Server([model(fail)]).start()


def test_a_model_that_the_protocol_cannot_carry_is_refused() -> None:
    odd = model(inputs=[TensorSpec("x", "seq(tensor(float))")])
    with pytest.raises(ModelError, match='m: input "x"'):
        Server([odd])


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match='two models are named "m"'):
        Server([model(), model()])


def test_a_server_starts_once() -> None:
    with serving() as server, pytest.raises(UsageError, match="has been started before"):
        server.start()


def test_health_is_told_while_the_models_are_warmed(uvloop: bool) -> None:
    gate = Gated()
    gate.open = False
    server = Server([model(gate)], uvloop=uvloop)
    starting = threading.Thread(target=server.start, daemon=True)
    starting.start()
    assert gate.begun.acquire(timeout=20)
    with Client(server) as client:
        client.send(get("/v2/health/live") + get("/v2/health/ready") + post(infer(1.0)))
        time.sleep(0.05)
        gate.open = True
        gate.go.release(100)
        starting.join(timeout=20)
        assert client.answer().status == 200
        assert client.answer().status in (200, 503)  # a warm-up on the loop itself is over before it is read
    server.close()


def test_without_the_parser_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingExtra("serve", "serving")

    monkeypatch.setattr(module, "load_parser", missing)
    with pytest.raises(MissingExtra, match=r"pip install 'hotlap\[serve\]'"):
        Server([model()])


def test_without_uvloop_asyncio_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvloop", None)
    with serving() as server, Client(server) as client:
        assert client.ask(get("/v2/health/live")).status == 200
    with pytest.raises(MissingExtra, match=r"uvloop needs an extra: pip install 'hotlap\[serve\]'"):
        Server([model()], uvloop=True)


# ── where it listens, who may come ────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets here")
def test_a_unix_socket_and_a_port_serve_the_same(tmp_path: Path, uvloop: bool) -> None:
    listener = Listener()
    listener.add_port("127.0.0.1", 0)
    listener.add_path(tmp_path / "s")
    with Server([model()], listener, uvloop=uvloop) as server, Client(server) as client:
        assert client.ask(post(infer(1.0))).status == 200
        with Client(server) as other:
            other.socket.close()
            other.socket = socket.socket(socket.AF_UNIX)
            other.socket.settimeout(20)
            other.socket.connect(str(tmp_path / "s"))
            assert other.ask(post(infer(2.0))).y[0, 0] == 4
            assert len(server.urls) == 2 and server.urls[1].startswith("http+unix://%2F")
    assert not (tmp_path / "s").exists()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm, which Linux has")
@pytest.mark.parametrize("max_batch", [1, 8])
def test_bfloat16_goes_through_shared_memory(tmp_path: Path, max_batch: int) -> None:
    numbers = np.array([1.5, -2.0, 3.0], pytest.importorskip("ml_dtypes").bfloat16)
    model_path = tiny.save(tiny.identity(onnx.TensorProto.BFLOAT16, opset=19), tmp_path / "b.onnx")
    key = Path(f"/dev/shm/hotlap-test-bfloat16-{os.getpid()}-{max_batch}")
    key.write_bytes(numbers.tobytes() + bytes(6))
    place = {"shared_memory_region": "r", "shared_memory_byte_size": 6}
    x = {"name": "x", "datatype": "BF16", "shape": [3], "parameters": place}
    y = {"name": "y", "parameters": {**place, "shared_memory_offset": 6}}
    request = post(json.dumps({"inputs": [x], "outputs": [y]}).encode(), "/v2/models/b/infer")
    region = {"key": key.name, "byte_size": 12}
    register = post(json.dumps(region).encode(), "/v2/systemsharedmemory/region/r/register")
    models = load([model_path], instead={"lanes": 1, "max_batch": max_batch, "inline": max_batch == 1})
    try:
        with Server(models) as server, Client(server) as client:
            register, request = (r.replace(b"Host: h", b"Host: localhost") for r in (register, request))
            assert client.ask(register).status == 200
            answer = client.ask(request)
            assert answer.status == 200, answer.body
            assert key.read_bytes() == numbers.tobytes() * 2
    finally:
        key.unlink()


@pytest.mark.parametrize(("host", "shared"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_memory_is_shared_where_only_this_machine_can_connect(host: str, shared: bool) -> None:
    listener = Listener()
    listener.add_port(host, 0)
    with serving(listener=listener) as server, Client(server) as client:
        extensions = client.ask(get("/v2")).json["extensions"]
        assert ("system_shared_memory" in extensions) is shared


def test_a_token_is_asked_for_but_not_by_health(uvloop: bool) -> None:
    with serving(token="s3cret", uvloop=uvloop) as server, Client(server) as client:
        for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/m/ready"):
            assert client.ask(get(path)).status == 200
        for line in ("A: b", "Authorization: Bearer s3cre", "Authorization: Basic s3cret", "Authorization: "):
            answer = client.ask(post(infer(1.0), "/v2/models/m/infer", line))
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        for line in ("Authorization: Bearer s3cret", "authorization: bearer s3cret"):
            assert client.ask(post(infer(1.0), "/v2/models/m/infer", line)).status == 200
        assert client.ask(get("/v2")).status == 401


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
@pytest.mark.parametrize(
    ("soft", "hard", "asked", "connections", "after"),
    [
        (1024, 1_000_000, 4096, 4096, 4608),
        (1024, 2048, 4096, 1536, 2048),
        (100_000, 100_000, 4096, 4096, None),
        (-1, -1, 4096, 4096, None),
        (256, 256, 4096, 1, None),
    ],
)
def test_there_are_no_more_connections_than_files(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, asked: int, connections: int, after: int | None
) -> None:
    import resource

    done: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: done.append(pair))
    assert module._within_files(Limits(connections=asked)).connections == connections
    assert [pair[0] for pair in done if pair[0] != soft] == ([] if after is None else [after])


# ── under load ────────────────────────────────────────────────────────────────────────────────────────


class Load:
    """Clients that ask as fast as they can, until the server ends their connection."""

    def __init__(self, server: Server, clients: int) -> None:
        self.server = server
        self.answers: list[int] = []
        self.wrong: list[object] = []
        self.cut = 0  # connections that ended with a request in them, and no answer
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(n,), daemon=True) for n in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self, number: int) -> None:
        count = 0
        with Client(self.server) as client:
            while True:
                value = float(number * 100_000 + count)
                count += 1
                try:
                    answer = client.ask(post(infer(value)))
                except OSError:
                    with self._lock:
                        self.cut += 1
                    return
                with self._lock:
                    self.answers.append(answer.status)
                    if answer.status == 200 and answer.y.tolist() != (rows(value) * 2).tolist():
                        self.wrong.append((value, answer.y))
                if answer.headers.get("connection") == "close":
                    return

    def join(self) -> None:
        for thread in self._threads:
            thread.join(timeout=30)
            assert not thread.is_alive()


def test_stopping_under_load_loses_nothing_that_was_accepted(uvloop: bool) -> None:
    ran = 0

    def counting(feed: dict[str, Any]) -> dict[str, Any]:
        nonlocal ran
        ran += 1
        return slow(feed)

    server = Server([model(counting)], uvloop=uvloop).start()
    warm = ran
    load = Load(server, 8)
    until(lambda: len(load.answers) > 50)
    server.close()
    load.join()
    answered = load.answers.count(200)
    assert answered > 50 and load.wrong == []
    assert set(load.answers) <= {200, 503}
    assert ran - warm == answered
    assert load.answers.count(503) + load.cut <= 8  # each client's last, which was not accepted
    assert server.engine.inside == 0


@pytest.mark.parametrize("inline", [True, False])
def test_who_asks_while_the_server_ends_is_told_so_and_not_cut_off(uvloop: bool, inline: bool) -> None:
    server = Server([model(inline=inline)], uvloop=uvloop).start()
    with Client(server) as idle, Client(server) as other:
        assert idle.ask(get("/v2/health/live")).status == other.ask(get("/v2/health/live")).status == 200
        with halted(server, server._stop.set):  # type: ignore[union-attr]
            waits = [Client(server) for _ in range(20)]  # nobody has taken them up
            for client in waits:
                client.send(post(infer(1.0)))
        answers = [client.answer() for client in waits]
        answers.append(idle.ask(post(infer(1.0))))
        assert {answer.status for answer in answers} <= {200, 503}  # some were read before the gate closed
        assert answers[-1].status == 503
        assert {a.headers.get("connection") for a in answers if a.status == 503} == {"close"}
        assert idle.ended()
        server.close()
        assert other.ended()
        for client in waits:
            client.socket.close()


def test_a_client_in_the_middle_of_nothing_does_not_hold_up_the_end(uvloop: bool) -> None:
    server = Server([model()], uvloop=uvloop).start()
    with Client(server) as idle, Client(server) as head, Client(server) as body:
        assert idle.ask(get("/v2/health/live")).status == 200
        head.send(b"GET / HT")
        body.send(post(b"x", length=100_000))
        until(lambda: len(server._front.connections) == 3)
        start = time.monotonic()
        server.close()
        assert time.monotonic() - start < 10
        assert idle.ended() and head.ended() and body.ended()


def test_an_answer_that_never_comes_holds_up_the_end_so_long_and_no_longer(uvloop: bool) -> None:
    gate = Gated()
    server = Server([model(gate)], uvloop=uvloop, drain=0.2).start()
    gate.open = False
    with Client(server) as client:
        client.send(post(infer(1.0)))
        assert gate.begun.acquire(timeout=20)
        ending = threading.Thread(target=server.close, daemon=True)
        ending.start()
        answer = client.answer()
        assert (answer.status, answer.headers["connection"]) == (503, "close")
        gate.go.release()
        ending.join(timeout=20)
        assert not ending.is_alive()


def test_clients_that_go_under_load_are_counted_and_leave_nothing_behind(uvloop: bool) -> None:
    one, sent = model(slow, queue_requests=10_000), 0
    with serving(one, uvloop=uvloop) as server:
        load = Load(server, 3)
        rng = random.Random(0)
        request = post(infer(1.0))
        for _ in range(60):
            whole = rng.randint(1, 3)
            sent += whole + 1  # and the beginning of one
            client = Client(server).send(request * whole + request[: rng.randint(0, len(request))])
            time.sleep(rng.choice([0, 0, 0.001, 0.005]))
            if rng.random() < 0.5:
                client.vanish()
            else:
                client.socket.close()
        count = len(load.answers)
        until(lambda: len(load.answers) > count + 20)
        until(lambda: len(server._front.connections) == 3)
        until(lambda: server.engine.inside <= 3)
        assert load.wrong == [] and load.cut == 0 and set(load.answers) == {200}
        server.stop()
        load.join()
    assert server._front.bodies == 0
    # What was taken up is counted once, answered or dropped; what nobody had taken up yet is not.
    counted = {outcome: s.count for outcome, s in one.statistics.requests.items() if s.count}
    assert set(counted) == {"ok", "dropped"}
    assert counted["ok"] >= load.answers.count(200)
    assert sum(counted.values()) <= load.answers.count(200) + sent + 3  # each client's last


def test_a_loop_without_end_takes_the_server_from_nobody(tmp_path: Path) -> None:
    tiny.save(tiny.counting(), tmp_path / "count.onnx")

    def turns(number: int, **more: object) -> bytes:
        n = {"name": "n", "datatype": "INT64", "shape": [], "data": [number]}
        x = {"name": "x", "datatype": "FP32", "shape": [1], "data": [7]}
        return post(json.dumps({"inputs": [n, x], **more}).encode(), "/v2/models/count/infer")

    models = load([tmp_path / "count.onnx"], instead={"lanes": 1})
    with Server(models) as server, Client(server) as client, Client(server) as other:
        late = client.ask(turns(10**15, parameters={"timeout": 100_000}))
        assert late.status == 504
        client.send(turns(10**15))
        until(lambda: server.engine.inside == 1)
        assert other.ask(get("/v2/health/live")).status == 200
        client.vanish()  # a call that nobody waits for any more is stopped
        assert other.ask(turns(3)).json["outputs"][0]["data"] == [7.0]

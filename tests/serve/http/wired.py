"""A server on a real socket, with models of a few lines, and a client that can misbehave."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from hotlap.plan import Facts, Serve
from hotlap.runtime import FakeRunner
from hotlap.serve.http.limits import Limits
from hotlap.serve.served import Served
from hotlap.serve.serving import Server
from hotlap.tensors import TensorSpec

X = TensorSpec.of("x", "float32", ["N", 4])
Y = TensorSpec.of("y", "float32", ["N", 4])
INFER = "/v2/models/m/infer"
Feed = dict[str, Any]
Serving = Callable[..., AbstractContextManager[Server]]


def doubled(feed: Feed) -> Feed:
    with np.errstate(all="ignore"):  # a client may send anything
        return {"y": feed["x"] * 2}


class Gated:
    """An answer that waits until it is let go."""

    def __init__(self, warm: int = 0) -> None:
        self.begun, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.open = True
        self.calls = 0

    def __call__(self, feed: Feed) -> Feed:
        if not self.open:
            self.calls += 1
            self.begun.release()
            assert self.go.acquire(timeout=30)
        return doubled(feed)


def model(answer: Callable[[Feed], Any] = doubled, name: str = "m", **serve: Any) -> Served:
    """A model that is served; `serve` are fields of `Serve`, besides `inputs`, `outputs` and `failures`."""
    more = {k: serve.pop(k) for k in ("failures", "latency") if k in serve}
    runner = FakeRunner(serve.pop("inputs", [X]), serve.pop("outputs", [Y]), answer=answer, **more)
    given = {"inline": False, "lanes": 1, "max_batch": 1} | serve
    return Served(name=name, runner=runner, facts=Facts(), serve=Serve(**given), lanes=given["lanes"])


@contextmanager
def serving(*models: Served, limits: dict[str, Any] | None = None, **more: Any) -> Iterator[Server]:
    with Server(models or [model()], limits=Limits(**(limits or {})), **more) as server:
        yield server


@dataclass
class Answer:
    """One reply as it came."""

    status: int
    headers: dict[str, str]
    body: bytes
    interim: list[int] = field(default_factory=list)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        text: str = self.json["error"]
        return text

    @property
    def y(self) -> Any:
        """The only output, sent as JSON."""
        (output,) = self.json["outputs"]
        return np.array(output["data"], np.float32).reshape(output["shape"])


class Client:
    """A connection of bytes."""

    def __init__(self, server: Server | str, *, small: bool = False, context: Any = None) -> None:
        where = urlsplit(server if isinstance(server, str) else server.url)
        self.socket: Any = socket.socket()
        self.socket.settimeout(30)
        if small:  # so that answers soon have no room
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            self.socket.connect((where.hostname, where.port))
        except OSError:
            self.socket.close()
            raise
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname=where.hostname)
        self.rest = b""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> Client:
        self.socket.sendall(data)
        return self

    def line(self) -> bytes:
        while b"\r\n" not in self.rest:
            self._more()
        line, _, self.rest = self.rest.partition(b"\r\n")
        return line

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the server has ended the connection")
        self.rest += data

    def answer(self, *, head_only: bool = False) -> Answer:
        interim: list[int] = []
        while True:
            status = int(self.line().split(b" ", 2)[1])
            headers: dict[str, str] = {}
            while line := self.line():
                name, _, value = line.decode("latin-1").partition(": ")
                assert name.lower() not in headers, line
                headers[name.lower()] = value
            if status >= 200:
                break
            interim.append(status)
        size = 0 if head_only else int(headers.get("content-length", 0))
        while len(self.rest) < size:
            self._more()
        body, self.rest = self.rest[:size], self.rest[size:]
        return Answer(status, headers, body, interim)

    def ask(self, data: bytes) -> Answer:
        return self.send(data).answer()

    def ended(self) -> bool:
        """Whether the server ends the connection, with nothing further to say."""
        try:
            return self.rest == b"" and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def vanish(self) -> None:
        """Goes as a crashed program does: the connection is reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


def post(
    body: bytes, path: str = INFER, *headers: str, version: str = "1.1", length: int | None = None
) -> bytes:
    lines = [f"POST {path} HTTP/{version}", "Host: h", *headers]
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def get(path: str, *headers: str, method: str = "GET", version: str = "1.1") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/{version}", "Host: h", *headers, "", ""]).encode("latin-1")


HEAD = get(INFER, "Transfer-Encoding: chunked", method="POST")
"""Of a request whose body is chunked."""


def rows(*values: float) -> Any:
    """One row for each value, filled with it."""
    return np.repeat(np.array(values, np.float32)[:, None], 4, axis=1)


def infer(*values: float, **more: Any) -> bytes:
    """A body in JSON."""
    x = rows(*values)
    tensor = {"name": "x", "datatype": "FP32", "shape": x.shape, "data": x.ravel().tolist()}
    return json.dumps({**more, "inputs": [tensor]}).encode()


def binary(x: Any, outputs: Sequence[str] = ("y",)) -> tuple[bytes, str]:
    """A body with bytes behind the JSON, and the header line that it needs."""
    tensor = {"name": "x", "datatype": "FP32", "shape": x.shape, "parameters": {"binary_data_size": x.nbytes}}
    wanted = [{"name": n, "parameters": {"binary_data": True}} for n in outputs]
    head = json.dumps({"inputs": [tensor], "outputs": wanted}).encode()
    return head + x.tobytes(), f"Inference-Header-Content-Length: {len(head)}"


def counts(served: Served) -> dict[str, int]:
    """How a model's requests ended: outcome to their number, where there are any."""
    return {outcome: s.count for outcome, s in served.statistics.requests.items() if s.count}


def ok(answer: Answer, *values: float) -> None:
    assert answer.status == 200, answer.body
    np.testing.assert_array_equal(answer.y, rows(*values) * 2)


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.002)

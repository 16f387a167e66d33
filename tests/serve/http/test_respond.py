from __future__ import annotations

import json

import numpy as np
import pytest

from hotlap.errors import DeadlineExceeded, InputError, Overloaded
from hotlap.serve.http.respond import Reply, refusal, written
from hotlap.serve.status import MethodNotAllowed, Unauthorized


def test_a_small_answer_is_one_buffer() -> None:
    reply = Reply(200, [b"ab", memoryview(b"cd")], ((b"X", b"y"),), b"text/plain")
    assert written(reply, b"Date: now\r\n", b"Connection: close\r\n") == [
        b"HTTP/1.1 200 OK\r\nDate: now\r\nConnection: close\r\nX: y\r\n"
        b"Content-Type: text/plain\r\nContent-Length: 4\r\n\r\nabcd"
    ]


def test_a_large_answer_is_not_copied() -> None:
    large = np.zeros(100_000, np.uint8).data
    first, second = written(Reply(body=[large]), b"", b"")
    assert b"Content-Length: 100000\r\n" in bytes(first) and second is large


def test_head_and_no_content() -> None:
    assert written(Reply(body=[b"abc"]), b"", b"", head_only=True)[0].endswith(b"Content-Length: 3\r\n\r\n")
    assert written(Reply(204), b"", b"") == [b"HTTP/1.1 204 No Content\r\n\r\n"]
    assert written(Reply(200), b"", b"") == [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]


def said(error: BaseException) -> tuple[int, str, dict[bytes, bytes]]:
    reply = refusal(error)
    (body,) = reply.body
    return reply.status, json.loads(bytes(body))["error"], dict(reply.headers)


def test_errors_are_told_as_the_table_says() -> None:
    assert said(InputError(["one", "two"])) == (400, "one\ntwo", {})
    assert said(Overloaded("full")) == (429, "full", {b"Retry-After": b"1"})
    assert said(DeadlineExceeded("late")) == (504, "late", {})
    assert said(Unauthorized("who?")) == (401, "who?", {b"WWW-Authenticate": b"Bearer"})
    assert said(MethodNotAllowed("no", ("GET", "HEAD")))[2] == {b"Allow": b"GET, HEAD"}


def test_what_is_the_servers_own_stays_in_its_log(caplog: pytest.LogCaptureFixture) -> None:
    assert said(ValueError("a secret")) == (500, "internal error: the server's log says more", {})
    assert "a secret" in caplog.text


def test_any_text_can_be_told() -> None:
    assert said(InputError("half \ud800"))[1] == "half \\ud800"
    assert len(said(InputError("x" * 10**6))[1]) < 20_000

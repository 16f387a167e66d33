"""The addresses of log and trace settings."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.serve.http.asking import Asking


@pytest.fixture
def asking() -> Iterator[Asking]:
    logger = logging.getLogger("hotlap.serve")
    before = logger.level
    yield Asking()
    logger.setLevel(before)


def test_log_settings_are_read_and_changed(asking: Asking) -> None:
    status, first = asking.get("/v2/logging")
    assert (status, first["log_verbose_level"]) == (200, 0)
    assert asking.post("/v2/logging", {"log_verbose_level": 1}) == (200, first | {"log_verbose_level": 1})
    assert asking.get("/v2/logging") == (200, first | {"log_verbose_level": 1})
    assert asking.post("/v2/logging") == (200, first | {"log_verbose_level": 1})
    assert asking.post("/v2/logging", {"log_info": "loud"})[0] == 400


def test_trace_settings_are_read_and_changed_for_the_server_and_a_model(asking: Asking) -> None:
    status, first = asking.get("/v2/trace/setting")
    assert (status, first["trace_level"]) == (200, ["OFF"])
    timed = first | {"trace_level": ["TIMESTAMPS"]}
    assert asking.post("/v2/models/m/trace/setting", {"trace_level": ["TIMESTAMPS"]}) == (200, timed)
    assert asking.get("/v2/models/m/trace/setting") == (200, timed)
    assert asking.get("/v2/models/n/trace/setting") == (200, first)
    assert asking.post("/v2/trace/setting", {"trace_rate": "0"})[0] == 400


@pytest.mark.parametrize("body", [b"[]", b"1", b"{", b"\xff", b'{"a":'])
@pytest.mark.parametrize("path", ["/v2/logging", "/v2/trace/setting"])
def test_what_is_no_object_is_400(asking: Asking, path: str, body: bytes) -> None:
    status, told = asking.post(path, body)
    assert status == 400
    assert told["error"].startswith("the body is no JSON object: ")

from __future__ import annotations

from typing import Any

import pytest

from hotlap.serve.http.respond import Reply
from hotlap.serve.http.routes import Route, Table
from hotlap.serve.status import Malformed, MethodNotAllowed, Unknown


def nothing(engine: Any, match: Any, body: Any, headers: Any) -> Reply:
    return Reply()


TABLE = Table(
    [
        Route("GET", "/v2", nothing),
        Route("GET", "/v2/models/stats", nothing),
        Route("GET", "/v2/models/{model}", nothing),
        Route("POST", "/v2/models/{model}/infer", None),
        Route("GET", "/v2/models/{model}/versions/{version}", nothing),
        Route("POST", "/v2/settings", nothing),
        Route("GET", "/v2/settings", nothing),
    ]
)


@pytest.mark.parametrize(
    ("method", "path", "pattern", "match"),
    [
        ("GET", b"/v2", "/v2", {}),
        ("HEAD", b"/v2", "/v2", {}),
        ("GET", b"/v2/models/stats", "/v2/models/stats", {}),
        ("GET", b"/v2/models/a", "/v2/models/{model}", {"model": "a"}),
        ("POST", b"/v2/models/a%2Fb%20%C3%BC/infer", "/v2/models/{model}/infer", {"model": "a/b ü"}),
        (
            "GET", b"/v2/models/a/versions/1", "/v2/models/{model}/versions/{version}",
            {"model": "a", "version": "1"},
        ),
        ("POST", b"/v2/settings", "/v2/settings", {}),
        ("GET", b"/v2/settings", "/v2/settings", {}),
    ],
)  # fmt: skip
def test_addresses_are_found(method: str, path: bytes, pattern: str, match: dict[str, str]) -> None:
    route, found = TABLE.find(method, path)
    assert (route.pattern, found) == (pattern, match)
    assert route.method == ("GET" if method == "HEAD" else method)


@pytest.mark.parametrize(
    "path", [b"/", b"/v2/", b"//v2", b"/V2", b"/v2/models/", b"/v2/models//infer", b"/v2/models/a/b/c", b"*"]
)
def test_others_are_not(path: bytes) -> None:
    with pytest.raises(Unknown, match="no such address"):
        TABLE.find("GET", path)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", b"/v2", ("GET", "HEAD", "OPTIONS")),
        ("GET", b"/v2/models/a/infer", ("POST", "OPTIONS")),
        ("OPTIONS", b"/v2/settings", ("POST", "GET", "HEAD", "OPTIONS")),
        ("DELETE", b"/v2/models/a", ("GET", "HEAD", "OPTIONS")),
    ],
)
def test_methods_that_there_are_not_are_answered_by_those_that_there_are(
    method: str, path: bytes, allowed: tuple[str, ...]
) -> None:
    with pytest.raises(MethodNotAllowed) as caught:
        TABLE.find(method, path)
    assert caught.value.allowed == allowed


def test_names_must_be_text() -> None:
    with pytest.raises(Malformed, match="no UTF-8"):
        TABLE.find("GET", b"/v2/models/%ff")


def test_an_error_repeats_no_more_of_an_address_than_can_be_read() -> None:
    with pytest.raises(Unknown) as caught:
        TABLE.find("GET", b"/" + b"x" * 4000)
    assert len(str(caught.value)) < 250

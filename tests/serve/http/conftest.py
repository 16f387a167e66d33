"""Servers and clients for the tests of connections, each on uvloop and on Python's own loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from hotlap.serve.serving import Server
from tests.serve.http.wired import Client, Serving, model, serving


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

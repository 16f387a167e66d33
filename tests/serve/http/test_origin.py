from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.serve.http.origin import by_address, check_origin
from hotlap.serve.listening import Listener
from hotlap.serve.serving import Server
from hotlap.serve.status import Forbidden
from tests.serve.http.wired import INFER, Client, get, infer, model, post, rows, serving

STATUS = "/v2/systemsharedmemory/status"


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "127.0.0.1", "[::1]:8000", "localhost", "LOCALHOST:1"])
def test_its_own_page_and_its_own_address_pass(host: str) -> None:
    headers = {b"host": host.encode()}
    check_origin(headers)
    check_origin({**headers, b"origin": b"http://" + host.lower().encode()})
    assert by_address(headers)
    assert by_address({})


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://h", "h:80"),
        ("http://h:80", "h"),
        ("https://h", "h:443"),
        ("https://H:443", "h"),
        ("http://[::1]", "[::1]:80"),
        ("http://h:8000", "h:8000"),
        ("https://h:80", "h:80"),
    ],
)
def test_the_usual_port_may_be_left_out(origin: str, host: str) -> None:
    check_origin({b"host": host.encode(), b"origin": origin.encode()})


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://h:443", "h"),
        ("http://h", "h:443"),
        ("https://h", "h:80"),
        ("https://h:80", "h"),
        ("http://h:8000", "h"),
        ("http://h", "h:8080"),
        ("http://", ":80"),
        ("ws://h", "h:80"),
    ],
)
def test_another_port_is_another_origin(origin: str, host: str) -> None:
    with pytest.raises(Forbidden):
        check_origin({b"host": host.encode(), b"origin": origin.encode()})


@pytest.mark.parametrize(
    "origin", [b"http://evil.example", b"null", b"", b"https://127.0.0.1:8001", b"file://"]
)
def test_a_page_from_elsewhere_does_not(origin: bytes) -> None:
    with pytest.raises(Forbidden):
        check_origin({b"host": b"127.0.0.1:8000", b"origin": origin})


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80", "1", "[a]"])
def test_a_name_does_not(host: str) -> None:
    assert not by_address({b"host": host.encode()})


def test_a_page_in_a_browser_cannot_use_the_server() -> None:
    elsewhere, own = "Origin: http://evil.example", "Origin: http://h"
    with serving() as server, Client(server) as client:
        for request in (
            post(infer(1.0), INFER, elsewhere),
            get("/v2", elsewhere),
            get("/metrics", elsewhere),
        ):
            answer = client.ask(request)
            assert answer.status == 403 and "origin" in answer.error
        assert client.ask(post(infer(1.0), INFER, own)).status == 200
        assert client.ask(post(infer(1.0))).status == 200


def test_with_a_token_it_is_the_token_that_counts() -> None:
    with serving(token="abc") as server, Client(server) as client:
        lines = ("Origin: http://evil.example", "Authorization: Bearer abc")
        assert client.ask(get("/v2", *lines)).status == 200
        assert client.ask(get(STATUS, *lines)).status == 200
        assert client.ask(get("/v2", lines[0])).status == 401


def test_a_name_that_was_turned_to_this_machine_gets_no_shared_memory() -> None:
    with serving() as server, Client(server) as client:
        assert client.ask(get(STATUS)).status == 403
        assert client.ask(get("/v2/cudasharedmemory/status")).status == 403
        assert client.ask(post(b"{}", "/v2/systemsharedmemory/region/a/register")).status == 403
        assert client.ask(get(STATUS).replace(b"Host: h", b"Host: 127.0.0.1")).status == 200
        assert client.ask(get("/v2")).status == 200  # a proxy passes its own name on


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets here")
def test_no_browser_reaches_a_unix_socket(tmp_path: Path) -> None:
    listener = Listener()
    listener.add_path(tmp_path / "s")
    with Server([model()], listener), socket.socket(socket.AF_UNIX) as mine:
        mine.settimeout(20)
        mine.connect(str(tmp_path / "s"))
        mine.sendall(get(STATUS))
        assert mine.recv(1000).startswith(b"HTTP/1.1 200 ")


# ── regions that somebody has registered ──────────────────────────────────────────────────────────────


@pytest.fixture
def region() -> Iterator[Path]:
    """A row of ones, and room for an answer."""
    if not Path("/dev/shm").is_dir():
        pytest.skip("needs /dev/shm, which Linux has")
    path = Path(f"/dev/shm/hotlap-test-{secrets.token_hex(8)}")
    path.write_bytes(rows(1.0).tobytes() + bytes(16))
    yield path
    path.unlink()


def register(region: Path, *lines: str) -> bytes:
    body = json.dumps({"key": region.name, "byte_size": 32}).encode()
    return addressed(post(body, "/v2/systemsharedmemory/region/r/register", *lines))


def addressed(request: bytes) -> bytes:
    return request.replace(b"Host: h\r\n", b"Host: 127.0.0.1\r\n")


def through_region(*sides: str) -> bytes:
    """A request whose input, output or both lie in the region."""
    body: Any = json.loads(infer(2.0))
    if "input" in sides:
        del body["inputs"][0]["data"]
        body["inputs"][0]["parameters"] = {"shared_memory_region": "r", "shared_memory_byte_size": 16}
    if "output" in sides:
        place = {
            "shared_memory_region": "r",
            "shared_memory_byte_size": 16,
            "shared_memory_offset": 16,
        }
        body["outputs"] = [{"name": "y", "parameters": place}]
    return json.dumps(body).encode()


def test_nor_the_use_of_what_others_registered(region: Path) -> None:
    with serving() as server, Client(server) as client:
        assert client.ask(register(region)).status == 200
        before = region.read_bytes()
        for side in ("input", "output"):
            for _ in range(2):  # the second has a head that was read before
                answer = client.ask(post(through_region(side)))
                assert answer.status == 403 and "shared memory" in answer.error
        assert region.read_bytes() == before
        assert client.ask(post(infer(1.0))).status == 200
        for _ in range(2):
            assert client.ask(addressed(post(through_region("input", "output")))).status == 200
        np.testing.assert_array_equal(np.frombuffer(region.read_bytes(), np.float32), [1.0] * 4 + [2.0] * 4)
        assert client.ask(post(through_region("output"))).status == 403


def test_with_a_token_regions_may_be_used_by_any_name(region: Path) -> None:
    bearer = "Authorization: Bearer abc"
    with serving(token="abc") as server, Client(server) as client:
        assert client.ask(register(region, bearer)).status == 200
        assert client.ask(post(through_region("input", "output"), INFER, bearer)).status == 200


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets here")
def test_and_through_a_unix_socket(region: Path, tmp_path: Path) -> None:
    listener = Listener()
    listener.add_path(tmp_path / "s")
    with Server([model()], listener), socket.socket(socket.AF_UNIX) as mine:
        mine.settimeout(20)
        mine.connect(str(tmp_path / "s"))
        for request in (register(region), post(through_region("input", "output"))):
            mine.sendall(request)
            assert mine.recv(1000).startswith(b"HTTP/1.1 200 ")

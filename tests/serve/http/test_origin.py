from __future__ import annotations

import socket
from pathlib import Path

import pytest

from hotlap.serve.http.origin import check_host, check_origin
from hotlap.serve.listening import Listener
from hotlap.serve.serving import Server
from hotlap.serve.status import Forbidden
from tests.serve.http.wired import INFER, Client, get, infer, model, post, serving

STATUS = "/v2/systemsharedmemory/status"


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "127.0.0.1", "[::1]:8000", "localhost", "LOCALHOST:1"])
def test_its_own_page_and_its_own_address_pass(host: str) -> None:
    headers = {b"host": host.encode()}
    check_origin(headers)
    check_origin({**headers, b"origin": b"http://" + host.lower().encode()})
    check_host(headers)
    check_host({})


@pytest.mark.parametrize(
    "origin", [b"http://evil.example", b"null", b"", b"https://127.0.0.1:8001", b"file://"]
)
def test_a_page_from_elsewhere_does_not(origin: bytes) -> None:
    with pytest.raises(Forbidden):
        check_origin({b"host": b"127.0.0.1:8000", b"origin": origin})


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80", "1", "[a]"])
def test_a_name_does_not(host: str) -> None:
    with pytest.raises(Forbidden):
        check_host({b"host": host.encode()})


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

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotlap.errors import UsageError
from hotlap.serve.listening import Listener

unix = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets here")


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def test_a_free_port_is_found_and_told(listener: Listener) -> None:
    listener.add_port("127.0.0.1", 0)
    (url,) = listener.urls
    host, _, port = url.rpartition(":")
    assert host == "http://127.0.0.1" and int(port) > 0
    with socket.create_connection(("127.0.0.1", int(port)), timeout=5):
        pass


@pytest.mark.parametrize(("host", "near"), [("127.0.0.1", True), ("127.0.0.2", True), ("0.0.0.0", False)])
def test_it_knows_whether_only_this_machine_can_connect(listener: Listener, host: str, near: bool) -> None:
    assert listener.near
    listener.add_port(host, 0)
    assert listener.near is near
    listener.add_port("127.0.0.1", 0)
    assert listener.near is near


def test_a_port_that_is_taken_is_told(listener: Listener) -> None:
    listener.add_port("127.0.0.1", 0)
    other = Listener()
    port = int(listener.urls[0].rpartition(":")[2])
    with pytest.raises(UsageError, match=f"127.0.0.1:{port} cannot be had: another program has it"):
        other.add_port("127.0.0.1", port)
    other.close()


@unix
def test_of_two_servers_that_are_started_together_one_is_told(tmp_path: Path, listener: Listener) -> None:
    """Both find the address before either has loaded its model."""
    listener.add_port("127.0.0.1", 0)
    listener.add_path(tmp_path / "s")
    other = Listener()
    with pytest.raises(UsageError, match="another program has it"):
        other.add_port("127.0.0.1", int(listener.urls[0].rpartition(":")[2]))
    with pytest.raises(UsageError, match="another server listens there"):
        other.add_path(tmp_path / "s")
    other.close()
    assert (tmp_path / "s").exists()


def test_a_host_that_there_is_not_is_told(listener: Listener) -> None:
    with pytest.raises(UsageError, match=r"host 'no\.such\.host\.invalid' cannot be found"):
        listener.add_port("no.such.host.invalid", 0)
    with pytest.raises(UsageError, match=r"'192\.0\.2\.1' stands for no address that this machine has"):
        listener.add_port("192.0.2.1", 0)


def test_tls_is_told(listener: Listener) -> None:
    listener.add_port("127.0.0.1", 0, tls=True)
    assert listener.urls[0].startswith("https://127.0.0.1:")


@unix
def test_a_unix_socket_is_its_owners_alone_and_goes_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "s"
    listener = Listener()
    listener.add_path(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    listener.close()
    assert not path.exists()


@unix
def test_others_may_connect_where_that_is_asked_for(tmp_path: Path, listener: Listener) -> None:
    before = os.umask(0o22)
    listener.add_path(tmp_path / "s", 0o660)
    assert os.umask(before) == 0o22  # it was put back
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o660


@unix
def test_a_socket_that_was_left_behind_is_replaced(tmp_path: Path, listener: Listener) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(os.fspath(path))
    listener.add_path(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(os.fspath(path))


@unix
def test_another_servers_socket_and_other_files_stay(tmp_path: Path, listener: Listener) -> None:
    listener.add_path(tmp_path / "s")
    other = Listener()
    with pytest.raises(UsageError, match="another server listens there"):
        other.add_path(tmp_path / "s")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="exists and is no socket"):
        other.add_path(tmp_path / "file")
    with pytest.raises(UsageError, match="cannot be had"):
        other.add_path(tmp_path / "none" / "s")
    other.close()
    assert (tmp_path / "file").read_text() == "mine" and (tmp_path / "s").exists()


@unix
def test_a_path_that_is_another_servers_by_now_is_not_removed(tmp_path: Path, listener: Listener) -> None:
    first = Listener()
    first.add_path(tmp_path / "s")
    (tmp_path / "s").rename(tmp_path / "old")
    listener.add_path(tmp_path / "s")
    first.close()
    assert (tmp_path / "s").exists()

"""Where a server listens: `Listener`."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import stat
from pathlib import Path

from hotlap.errors import UsageError

__all__ = ["BACKLOG", "Listener"]

BACKLOG = 1024
"""Connections that the system keeps until they are taken up; Linux cuts it to net.core.somaxconn."""


class Listener:
    """Sockets that listen from the start, so that of two servers that are started together one is told before
    it loads a model: an address that is only bound looks free to the other. Whoever connects meanwhile waits.

    Attributes:
        sockets: those that are open.
        near: only this machine can connect: every address is loopback, or a Unix socket.
        urls: of each, for people; "http+unix://" is how several clients write a path.
    """

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []
        self.urls: list[str] = []
        self.near = True
        self._paths: list[tuple[Path, tuple[int, int]]] = []

    def add_port(self, host: str, port: int, *, tls: bool = False) -> None:
        """
        Args:
            host: a name or an address; every address that it stands for is bound.
            port: 0: any that is free.

        Raises:
            UsageError: it cannot be had.
        """
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        except (OSError, UnicodeError) as error:
            raise UsageError(f"host {host!r} cannot be found: {error}") from error
        mine: list[socket.socket] = []
        for family, kind, proto, _, address in dict.fromkeys(found):
            try:
                sock = socket.socket(family, kind, proto)
            except OSError:  # an address family that the system knows of and does not have
                continue
            if os.name == "posix":  # elsewhere the option lets two servers share a port by accident
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                sock.bind((address[0], port, *address[2:]))
                _listen(sock)
            except OSError as error:
                sock.close()
                if error.errno == errno.EADDRNOTAVAIL:  # "localhost" is ::1 too, where there is no IPv6
                    continue
                hint = "; --http takes another port, 0 a free one" if error.errno == errno.EADDRINUSE else ""
                raise UsageError(f"{_shown(host)}:{port} cannot be had: {_why(error)}{hint}") from error
            port = sock.getsockname()[1]
            self.near = self.near and _loopback(sock.getsockname()[0])
            mine.append(sock)
            self.sockets.append(sock)
        if not mine:
            raise UsageError(f"host {host!r} stands for no address that this machine has")
        self.urls.append(f"{'https' if tls else 'http'}://{_shown(host)}:{port}")

    def add_path(self, path: Path, mode: int = 0o600) -> None:
        """
        Args:
            path: of a Unix socket. A socket that nobody listens on any more is replaced.
            mode: who may connect.

        Raises:
            UsageError: it cannot be had.
        """
        if not hasattr(socket, "AF_UNIX"):
            raise UsageError("this system has no Unix sockets: listen on a port")
        _clear(path)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sockets.append(sock)
        # The mode is there from the start: nobody slips in between.
        before = os.umask(0o777 & ~mode)
        try:
            sock.bind(os.fspath(path))
            _listen(sock)
        except OSError as error:
            raise UsageError(f"{path} cannot be had: {_why(error)}") from error
        finally:
            os.umask(before)
        self._paths.append((path, _identity(path)))
        self.urls.append(f"http+unix://{str(path.absolute()).replace('/', '%2F')}")

    def close(self) -> None:
        """Closes the sockets and removes their paths; a path that is another server's by now stays."""
        for sock in self.sockets:
            sock.close()
        for path, identity in self._paths:
            if path.exists() and _identity(path) == identity:
                path.unlink()
        self._paths.clear()


def _loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _listen(sock: socket.socket) -> None:
    sock.listen(BACKLOG)
    sock.setblocking(False)


def _clear(path: Path) -> None:
    """Makes room for a socket."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise UsageError(f"{path} exists and is no socket: it stays; give another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.settimeout(1.0)
        try:
            other.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"{path} cannot be had: {_why(error)}") from error
        else:
            raise UsageError(f"{path}: another server listens there")


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _why(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program has it"
    return error.strerror or str(error)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host

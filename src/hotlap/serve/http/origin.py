"""Whether a request is made by a web page that has no business here: `check_host`, `check_origin`.

A browser lets every page send simple requests to any address that its machine reaches, this server's on
loopback too. It says so in the header Origin, which no page can change. A page whose name its owner has
turned to a loopback address (DNS rebinding) has an Origin that equals its Host: that is a name then.
"""

from __future__ import annotations

import ipaddress

from hotlap.serve.http.routes import Headers
from hotlap.serve.status import Forbidden

__all__ = ["check_host", "check_origin"]


def check_origin(headers: Headers) -> None:
    """
    Raises:
        Forbidden: a page from elsewhere made the request.
    """
    origin = headers.get(b"origin")
    if origin is None:
        return
    if origin.partition(b"://")[2].lower() != headers.get(b"host", b"").lower():
        raise Forbidden("web pages of another origin may not use this server: it asks for no token")


def check_host(headers: Headers) -> None:
    """
    Raises:
        Forbidden: the server was asked for by a name, other than localhost.
    """
    host = headers.get(b"host")
    if host is not None and not _literal(host.decode("latin-1").lower()):
        raise Forbidden("shared memory is for who asks for this machine by address, or as localhost")


def _literal(host: str) -> bool:
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if name == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

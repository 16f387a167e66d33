"""Whether a request is made by a web page that has no business here: `by_address`, `check_origin`.

A browser lets every page send simple requests to any address that its machine reaches, this server's on
loopback too. It says so in the header Origin, which no page can change. A page whose name its owner has
turned to a loopback address (DNS rebinding) has an Origin that equals its Host: that is a name then.
"""

from __future__ import annotations

import ipaddress

from hotlap.serve.http.routes import Headers
from hotlap.serve.status import Forbidden

__all__ = ["by_address", "check_origin"]

_USUAL_PORTS = {b"http": b":80", b"https": b":443"}


def check_origin(headers: Headers) -> None:
    """
    Raises:
        Forbidden: a page from elsewhere made the request.
    """
    origin = headers.get(b"origin")
    if origin is None:
        return
    scheme, _, own = origin.lower().partition(b"://")
    port = _USUAL_PORTS.get(scheme, b"")  # browsers leave it out; proxies and some clients write it in Host
    host = headers.get(b"host", b"").lower()
    if not own or own.removesuffix(port) != host.removesuffix(port):
        raise Forbidden("web pages of another origin may not use this server: it asks for no token")


def by_address(headers: Headers) -> bool:
    """Whether the server was asked for by no name, other than localhost."""
    host = headers.get(b"host")
    return host is None or _literal(host.decode("latin-1").lower())


def _literal(host: str) -> bool:
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if name == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

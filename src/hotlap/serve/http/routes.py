"""Which handler answers which address: `Route`, `Table`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from hotlap.serve.http.respond import Reply
from hotlap.serve.status import Malformed, MethodNotAllowed, Unknown

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine

__all__ = ["Handler", "Headers", "Match", "Route", "Table"]

Match = Mapping[str, str]
"""What the braces of a pattern stand for in an address, decoded."""
Headers = Mapping[bytes, bytes]
"""Header lines by lower-case name; what came several times is joined by commas."""
Handler = Callable[["Engine", Match, "bytes | memoryview", Headers], Reply]
"""Answers a request, or raises what `hotlap.serve.status` has a row for. It runs on the event loop: no
handler waits."""


@dataclass(frozen=True, slots=True)
class Route:
    """One address.

    Attributes:
        method: "GET" or "POST". Whatever answers GET answers HEAD.
        pattern: such as "/v2/models/{model}/stats": each brace stands for one whole segment.
        handler: None: an inference, which the connection does itself, since its answer comes later.
        open: no token is asked for.
        near: for programs of this machine: shared memory.
    """

    method: str
    pattern: str
    handler: Handler | None
    open: bool = False
    near: bool = False


class Table:
    """Finds routes."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._exact: dict[bytes, dict[str, Route]] = {}
        self._patterns: dict[int, list[tuple[tuple[bytes, ...], dict[str, Route]]]] = {}
        for route in routes:
            self._place(route)[route.method] = route

    def _place(self, route: Route) -> dict[str, Route]:
        path = route.pattern.encode()
        if b"{" not in path:
            return self._exact.setdefault(path, {})
        segments = tuple(path.split(b"/"))
        known = self._patterns.setdefault(len(segments), [])
        for other, methods in known:
            if other == segments:
                return methods
        known.append((segments, {}))
        return known[-1][1]

    def find(self, method: str, path: bytes) -> tuple[Route, Match]:
        """The route of that address, and what its braces stand for.

        Args:
            path: without query.

        Raises:
            Unknown: no such address.
            MethodNotAllowed: it exists, for other methods; for OPTIONS too, which asks for just that.
            Malformed: a name in it is no UTF-8.
        """
        methods, match = self._methods(path)
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            allowed = [*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"]
            raise MethodNotAllowed(f"{_shown(path)} takes {', '.join(allowed)}, not {method}", tuple(allowed))
        return route, match

    def _methods(self, path: bytes) -> tuple[dict[str, Route], Match]:
        exact = self._exact.get(path)
        if exact is not None:
            return exact, {}
        segments = path.split(b"/")
        for pattern, methods in self._patterns.get(len(segments), ()):
            match = _match(pattern, segments)
            if match is not None:
                return methods, match
        raise Unknown(f"no such address: {_shown(path)}{_hint(path)}")


def _hint(path: bytes) -> str:
    """For who looks for the models."""
    looks = path.rstrip(b"/") in (b"", b"/v2/models", b"/models")
    return "; GET /v2 describes the server, POST /v2/repository/index lists its models" if looks else ""


def _match(pattern: tuple[bytes, ...], segments: list[bytes]) -> Match | None:
    found = {}
    for want, got in zip(pattern, segments, strict=True):
        if want[:1] == b"{":
            if not got:
                return None
            found[want[1:-1].decode()] = got
        elif want != got:
            return None
    return {name: _decoded(value) for name, value in found.items()}


def _decoded(segment: bytes) -> str:
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise Malformed(f"{_shown(segment)} is no UTF-8") from None


def _shown(path: bytes) -> str:
    text = path[:200].decode("ascii", "backslashreplace")
    return text if len(path) <= 200 else f"{text} …"

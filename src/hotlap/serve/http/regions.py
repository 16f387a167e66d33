"""The addresses of shared memory: `routes`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from hotlap.errors import InputError
from hotlap.serve.http.body import read_json
from hotlap.serve.http.respond import Reply
from hotlap.serve.http.routes import Headers, Match, Route
from hotlap.serve.shared import SharedMemory
from hotlap.serve.status import Unknown

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine

__all__ = ["routes"]

Body = bytes | memoryview
_SYSTEM, _CUDA = "/v2/systemsharedmemory", "/v2/cudasharedmemory"


def routes(shared: SharedMemory) -> tuple[Route, ...]:
    """Status, register and unregister; those of GPU memory are answered as by a server without a GPU."""
    return (
        Route("GET", f"{_SYSTEM}/status", partial(_status, shared), near=True),
        Route("GET", f"{_SYSTEM}/region/{{region}}/status", partial(_status, shared), near=True),
        Route("POST", f"{_SYSTEM}/region/{{region}}/register", partial(_register, shared), near=True),
        Route("POST", f"{_SYSTEM}/region/{{region}}/unregister", partial(_unregister, shared), near=True),
        Route("POST", f"{_SYSTEM}/unregister", partial(_unregister, shared), near=True),
        Route("GET", f"{_CUDA}/status", _cuda_status, near=True),
        Route("GET", f"{_CUDA}/region/{{region}}/status", _cuda_status, near=True),
        Route("POST", f"{_CUDA}/region/{{region}}/register", _cuda_register, near=True),
        Route("POST", f"{_CUDA}/region/{{region}}/unregister", _cuda_unregister, near=True),
        Route("POST", f"{_CUDA}/unregister", _cuda_unregister, near=True),
    )


class _Wanted(msgspec.Struct):
    """What a client registers. Fields beyond these are left unread, as they have always been."""

    key: str
    byte_size: int
    offset: int = 0


def _status(shared: SharedMemory, engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    found = shared.status(match.get("region"))
    told = [{"name": r.name, "key": r.key, "offset": r.offset, "byte_size": r.nbytes} for r in found]
    return Reply(body=[msgspec.json.encode(told)])


def _register(shared: SharedMemory, engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    takes = 'registering a region takes {"key": text, "offset": number, "byte_size": number}'
    wanted = read_json(body, _Wanted, takes)
    shared.register(match["region"], wanted.key, wanted.offset, wanted.byte_size)
    return Reply()


def _unregister(shared: SharedMemory, engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    shared.unregister(match.get("region"))
    return Reply()


def _cuda_status(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    if "region" in match:
        raise Unknown("no region of GPU memory is registered")
    return Reply(body=[b"[]"])


def _cuda_register(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    raise InputError(
        "this server takes no GPU memory: use system shared memory, or send tensors in the request"
    )


def _cuda_unregister(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    """Clients forget all regions before they start, of both kinds, and expect that to work."""
    return Reply()

"""The addresses beside inference: `ROUTES`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hotlap.errors import NotReady
from hotlap.serve.http.respond import Reply
from hotlap.serve.http.routes import Headers, Match, Route
from hotlap.serve.status import Unknown
from hotlap.tensors import nearest

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine
    from hotlap.serve.served import Served

__all__ = ["ROUTES", "served"]


def served(engine: Engine, match: Match) -> Served:
    """The model that an address names.

    Raises:
        Unknown: there is none of that name, or not of that version.
    """
    model = engine.models.get(match["model"])
    if model is None:
        raise Unknown(f'no model "{match["model"]}" is served{nearest(match["model"], engine.models)}')
    version = match.get("version")
    if version is not None and version != model.version:
        raise Unknown(f'model "{model.name}" has version {model.version}, not "{version}"')
    return model


def live(engine: Engine, match: Match, body: bytes | memoryview, headers: Headers) -> Reply:
    """The process answers."""
    return Reply(body=[b'{"live":true}'])


def ready(engine: Engine, match: Match, body: bytes | memoryview, headers: Headers) -> Reply:
    """Every model is warm, and the server will not stop soon."""
    if not engine.ready or engine.draining:
        raise NotReady("the server is about to stop" if engine.draining else "the models are being warmed")
    return Reply(body=[b'{"ready":true}'])


def model_ready(engine: Engine, match: Match, body: bytes | memoryview, headers: Headers) -> Reply:
    """That model is warm."""
    model = served(engine, match)
    if not model.ready or engine.draining:
        raise NotReady(f'model "{model.name}" is being warmed, or the server is about to stop')
    return Reply(body=[b'{"name":%b,"ready":true}' % msgspec.json.encode(model.name)])


ROUTES: tuple[Route, ...] = (
    Route("GET", "/v2/health/live", live, open=True),
    Route("GET", "/v2/health/ready", ready, open=True),
    Route("GET", "/v2/models/{model}/ready", model_ready, open=True),
    Route("GET", "/v2/models/{model}/versions/{version}/ready", model_ready, open=True),
)

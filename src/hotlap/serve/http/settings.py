"""The addresses of log and trace settings: `routes`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hotlap.serve.http.body import json_object
from hotlap.serve.http.named import served
from hotlap.serve.http.respond import Reply
from hotlap.serve.http.routes import Headers, Match, Route
from hotlap.serve.settings import LogSettings, TraceSettings

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine

__all__ = ["routes"]

Body = bytes | memoryview


def routes(log: LogSettings, trace: TraceSettings) -> tuple[Route, ...]:
    """To read the settings and to change them."""
    traces = ("/v2/trace/setting", "/v2/models/{model}/trace/setting")
    return (
        Route("GET", "/v2/logging", partial(_log, log)),
        Route("POST", "/v2/logging", partial(_change_log, log)),
        *(Route("GET", pattern, partial(_trace, trace)) for pattern in traces),
        *(Route("POST", pattern, partial(_change_trace, trace)) for pattern in traces),
    )


def _log(log: LogSettings, engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    return _told(log.now())


def _change_log(log: LogSettings, engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    return _told(log.change(json_object(body)))


def _trace(trace: TraceSettings, engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    return _told(trace.now(_model(engine, match)))


def _change_trace(trace: TraceSettings, engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    return _told(trace.change(json_object(body), _model(engine, match)))


def _model(engine: Engine, match: Match) -> str:
    return served(engine, match).name if "model" in match else ""


def _told(settings: Mapping[str, Any]) -> Reply:
    return Reply(body=[msgspec.json.encode(settings)])

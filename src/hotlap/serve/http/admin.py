"""The addresses beside inference: `routes`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from hotlap.errors import InputError, NotReady
from hotlap.serve.exposition import CONTENT_TYPE, Sources, render
from hotlap.serve.http import regions, settings
from hotlap.serve.http.body import json_object
from hotlap.serve.http.named import served
from hotlap.serve.http.respond import Reply
from hotlap.serve.http.routes import Handler, Headers, Match, Route
from hotlap.serve.metrics import METRICS
from hotlap.serve.settings import LogSettings, TraceSettings, shown
from hotlap.serve.shared import SharedMemory
from hotlap.serve.status import NotOffered
from hotlap.serve.version import VERSION
from hotlap.wire import (
    BatchStats,
    Duration,
    InferenceStats,
    ModelStats,
    Signature,
    model_config,
    model_metadata,
    server_metadata,
    statistics,
)

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine
    from hotlap.serve.served import Served
    from hotlap.serve.statistics import Calls, Spread, Total

__all__ = ["routes"]

Body = bytes | memoryview

EXTENSIONS = (
    "binary_tensor_data",
    "classification",
    "logging",
    "model_configuration",
    "parameters",
    "schedule_policy",
    "statistics",
)
"""Of the protocol, told in the server's metadata: those that do what they say. Trace settings and the index
of the repository are answered too."""


def routes(
    shared: SharedMemory, log: LogSettings | None = None, trace: TraceSettings | None = None
) -> tuple[Route, ...]:
    """Every address but those of inference."""
    return (
        Route("GET", "/v2/health/live", _live, open=True),
        Route("GET", "/v2/health/ready", _ready, open=True),
        *_model_routes("/ready", _model_ready, unguarded=True),
        Route("GET", "/v2", partial(_server, shared)),
        *_model_routes("", _metadata),
        *_model_routes("/config", _config),
        *_model_routes("/stats", _model_statistics),
        Route("GET", "/v2/models/stats", _all_statistics),
        Route("GET", "/metrics", partial(_metrics, shared)),
        Route("POST", "/v2/repository/index", _index),
        Route("POST", "/v2/repository/models/{model}/load", _not_offered),
        Route("POST", "/v2/repository/models/{model}/unload", _not_offered),
        *regions.routes(shared),
        *settings.routes(log or LogSettings(), trace or TraceSettings()),
    )


def _model_routes(end: str, handler: Handler, *, unguarded: bool = False) -> Iterator[Route]:
    for version in ("", "/versions/{version}"):
        yield Route("GET", "/v2/models/{model}" + version + end, handler, unguarded)


# ── health ───────────────────────────────────────────────────────────────────────────────────────────────


def _live(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    """The process answers."""
    return Reply(body=[b'{"live":true}'])


def _ready(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    """Every model is warm, and the server will not stop soon."""
    if not engine.ready or engine.draining:
        raise NotReady("the server is about to stop" if engine.draining else "the models are being warmed")
    return Reply(body=[b'{"ready":true}'])


def _model_ready(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    """That model is warm. Whoever asks bears no token, and is told of no other."""
    model = served(engine, match, hint=False)
    if not model.ready or engine.draining:
        raise NotReady(f'model "{model.name}" is being warmed, or the server is about to stop')
    return Reply(body=[b'{"name":%b,"ready":true}' % msgspec.json.encode(model.name)])


# ── what there is ────────────────────────────────────────────────────────────────────────────────────────


def _server(shared: SharedMemory, engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    extensions = (*EXTENSIONS, *(["system_shared_memory"] if shared.allowed else []))
    return Reply(body=[server_metadata("hotlap", VERSION, extensions)])


def _metadata(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    model = served(engine, match)
    return Reply(body=[model_metadata(model.name, [model.version], _signature(model))])


def _config(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    model = served(engine, match)
    rows = model.serve.max_batch if model.facts.rows == "independent" and _rows_first(model) else 0
    file = model.runner.model_path.name
    return Reply(body=[model_config(model.name, _signature(model), max_batch_size=rows, file_name=file)])


def _rows_first(model: Served) -> bool:
    """Whether every tensor's first axis is that of rows, as clients then take for granted, and it has others
    beside: they know no ``"dims": []``."""
    specs = (*model.runner.inputs, *model.runner.outputs)
    return all(model.facts.axes.get(spec.name) == 0 and len(spec.shape) > 1 for spec in specs)


def _signature(model: Served) -> Signature:
    return Signature.of(model.runner.inputs, model.runner.outputs)


def _index(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    only_ready = json_object(body).get("ready", False)
    if not isinstance(only_ready, bool):
        raise InputError(f"ready: expected true or false, got {shown(only_ready)}")
    models = [
        {
            "name": m.name,
            "version": m.version,
            "state": "READY" if m.ready else "LOADING",
            "reason": "" if m.ready else "it is being warmed",
        }
        for m in engine.models.values()
        if m.ready or not only_ready
    ]
    return Reply(body=[msgspec.json.encode(models)])


def _not_offered(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    raise NotOffered("this server serves the models that it was started with; it loads and unloads none")


# ── what was counted ─────────────────────────────────────────────────────────────────────────────────────


def _metrics(shared: SharedMemory, engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    return Reply(body=[render(METRICS, Sources(engine, shared))], content_type=CONTENT_TYPE)


def _all_statistics(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    return Reply(body=[statistics(map(_stats, engine.models.values()))])


def _model_statistics(engine: Engine, match: Match, body: Body, headers: Headers) -> Reply:
    return Reply(body=[statistics([_stats(served(engine, match))])])


def _stats(model: Served) -> ModelStats:
    counted = model.statistics
    failed = [spread for outcome, spread in counted.requests.items() if outcome != "ok"]
    return ModelStats(
        name=model.name,
        version=model.version,
        last_inference=counted.last_inference,
        inference_count=counted.inference_count,
        execution_count=counted.execution_count,
        inference_stats=InferenceStats(
            success=_duration(counted.requests["ok"]),
            fail=Duration(sum(s.count for s in failed), sum(s.ns for s in failed)),
            queue=_duration(counted.queue),
            compute_input=_duration(counted.parse),
            compute_infer=_duration(counted.compute),
            compute_output=_duration(counted.encode),
        ),
        batch_stats=tuple(
            BatchStats(
                batch_size=rows,
                compute_input=Duration(calls.count, 0),  # counted with the requests, not with the calls
                compute_infer=_duration(calls),
                compute_output=Duration(calls.count, 0),
            )
            for rows, calls in sorted(counted.calls.items())
        ),
    )


def _duration(counted: Total | Spread | Calls) -> Duration:
    return Duration(counted.count, counted.ns)

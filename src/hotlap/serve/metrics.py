"""What `/metrics` tells: `METRICS`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hotlap.serve.exposition import Metric, Sample, Sources
from hotlap.serve.statistics import OUTCOMES, Spread, Statistics
from hotlap.serve.version import VERSION

if TYPE_CHECKING:
    from hotlap.serve.served import Served
    from hotlap.serve.track import Load

__all__ = ["METRICS"]

_NS = 1e-9
_STARTED = time.time()


# ── where the numbers come from ──────────────────────────────────────────────────────────────────────────


def _server(value: Callable[[Sources], float | None], sources: Sources) -> Iterator[Sample]:
    """One number of the server; None: not to be had on this system."""
    number = value(sources)
    if number is not None:
        yield {}, number


def _version(sources: Sources) -> Iterator[Sample]:
    yield {"version": VERSION}, 1


def _each(value: Callable[[Served], float | Spread], sources: Sources) -> Iterator[Sample]:
    """One value of each model."""
    for model in sources.engine.models.values():
        yield {"model": model.name, "version": model.version}, value(model)


def _loads(value: Callable[[Load], float]) -> Callable[[Sources], Iterator[Sample]]:
    """What goes on at each model."""

    def samples(sources: Sources) -> Iterator[Sample]:
        return _each(lambda model: value(sources.engine.load(model)), sources)

    return samples


def _of(value: Callable[[Statistics], float | Spread]) -> Callable[[Sources], Iterator[Sample]]:
    return partial(_each, lambda model: value(model.statistics))


def _outcomes(sources: Sources, *, spreads: bool) -> Iterator[Sample]:
    for model in sources.engine.models.values():
        for outcome, spread in model.statistics.requests.items():
            labels = {"model": model.name, "version": model.version, "outcome": outcome}
            if not spreads:
                yield labels, spread.count
            elif spread.count or outcome == "ok":
                yield labels, spread


_REASONS = {
    "REJECTED": ("refused", "late"),
    "CANCELED": ("dropped",),
    "BACKEND": ("failed",),
    "OTHER": ("invalid",),
}


def _failures(sources: Sources) -> Iterator[Sample]:
    for model in sources.engine.models.values():
        requests = model.statistics.requests
        for reason, outcomes in _REASONS.items():
            labels = {"model": model.name, "version": model.version, "reason": reason}
            yield labels, sum(requests[o].count for o in outcomes)


def _resident(sources: Sources) -> float | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _descriptors(sources: Sources) -> float | None:
    try:
        return len(os.listdir("/proc/self/fd")) - 1  # noqa: PTH208  one of them is this listing's own
    except OSError:
        return None


_MODEL = ("model", "version")
_TRITON = "Triton's name for {}."


def _metric(name: str, kind: str, text: str, samples: Callable[[Sources], Iterator[Sample]]) -> Metric:
    return Metric(name, kind, text, _MODEL, samples)


METRICS: tuple[Metric, ...] = (
    Metric("hotlap_info", "gauge", "1; the version is in the label.", ("version",), _version),
    Metric(
        "hotlap_ready",
        "gauge",
        "1 while every model is warm and the server is not about to stop.",
        (),
        partial(_server, lambda s: int(s.engine.ready)),
    ),
    Metric(
        "hotlap_inside",
        "gauge",
        "Requests that were accepted and are not over, of all models.",
        (),
        partial(_server, lambda s: s.engine.inside),
    ),
    _metric(
        "hotlap_model_ready", "gauge", "1 when the model is warm.", partial(_each, lambda m: int(m.ready))
    ),
    Metric(
        "hotlap_requests_total",
        "counter",
        "Requests by how they ended: " + "; ".join(f"{k}: {v}" for k, v in OUTCOMES.items()) + ".",
        (*_MODEL, "outcome"),
        partial(_outcomes, spreads=False),
    ),
    Metric(
        "hotlap_request_seconds",
        "histogram",
        "From a request's last byte to its answer that is ready for the socket.",
        (*_MODEL, "outcome"),
        partial(_outcomes, spreads=True),
    ),
    _metric(
        "hotlap_queue_seconds", "histogram", "Answered requests: waiting for a lane.", _of(lambda s: s.queue)
    ),
    _metric(
        "hotlap_compute_seconds",
        "histogram",
        "Answered requests: the call of the model that each took part in.",
        _of(lambda s: s.compute),
    ),
    _metric(
        "hotlap_parse_seconds_total",
        "counter",
        "Answered requests: reading their tensors.",
        _of(lambda s: s.parse.ns * _NS),
    ),
    _metric(
        "hotlap_encode_seconds_total",
        "counter",
        "Answered requests: making their answers.",
        _of(lambda s: s.encode.ns * _NS),
    ),
    _metric("hotlap_rows_total", "counter", "Rows that were computed.", _of(lambda s: s.inference_count)),
    _metric("hotlap_calls_total", "counter", "Calls of the model.", _of(lambda s: s.execution_count)),
    _metric(
        "hotlap_waiting",
        "gauge",
        "Requests that wait for a lane.",
        _loads(lambda load: load.waiting),
    ),
    _metric(
        "hotlap_waiting_bytes",
        "gauge",
        "Bytes of the inputs of those that wait.",
        _loads(lambda load: load.nbytes),
    ),
    _metric("hotlap_lanes", "gauge", "Threads that run calls.", _loads(lambda load: load.lanes)),
    _metric("hotlap_lanes_busy", "gauge", "Those that run one now.", _loads(lambda load: load.busy)),
    Metric(
        "hotlap_shared_memory_regions",
        "gauge",
        "Regions of shared memory that are registered.",
        (),
        partial(_server, lambda s: len(s.shared.status())),
    ),
    Metric(
        "hotlap_shared_memory_bytes",
        "gauge",
        "Bytes of those regions.",
        (),
        partial(_server, lambda s: s.shared.nbytes),
    ),
    Metric(
        "process_cpu_seconds_total",
        "counter",
        "CPU time of the process, all threads.",
        (),
        partial(_server, lambda s: time.process_time()),
    ),
    Metric(
        "process_start_time_seconds",
        "gauge",
        "When the process started, seconds since 1970.",
        (),
        partial(_server, lambda s: _STARTED),
    ),
    Metric(
        "process_resident_memory_bytes",
        "gauge",
        "Memory that the process holds (Linux).",
        (),
        partial(_server, _resident),
    ),
    Metric(
        "process_open_fds", "gauge", "Open files and sockets (Linux).", (), partial(_server, _descriptors)
    ),
    # Dashboards and tools that were made for Triton find what they know. Times there are whole microseconds.
    _metric(
        "nv_inference_request_success",
        "counter",
        _TRITON.format("answered requests"),
        _of(lambda s: s.requests["ok"].count),
    ),
    Metric(
        "nv_inference_request_failure",
        "counter",
        _TRITON.format("the others, by reason"),
        (*_MODEL, "reason"),
        _failures,
    ),
    _metric("nv_inference_count", "counter", _TRITON.format("rows"), _of(lambda s: s.inference_count)),
    _metric("nv_inference_exec_count", "counter", _TRITON.format("calls"), _of(lambda s: s.execution_count)),
    _metric(
        "nv_inference_pending_request_count",
        "gauge",
        _TRITON.format("requests that wait"),
        _loads(lambda load: load.waiting),
    ),
    _metric(
        "nv_inference_request_duration_us",
        "counter",
        _TRITON.format("the time of answered requests"),
        _of(lambda s: s.requests["ok"].ns // 1000),
    ),
    _metric(
        "nv_inference_queue_duration_us",
        "counter",
        _TRITON.format("the time that they waited"),
        _of(lambda s: s.queue.ns // 1000),
    ),
    _metric(
        "nv_inference_compute_input_duration_us",
        "counter",
        _TRITON.format("the time of reading tensors"),
        _of(lambda s: s.parse.ns // 1000),
    ),
    _metric(
        "nv_inference_compute_infer_duration_us",
        "counter",
        _TRITON.format("the time of calls, for each request in them"),
        _of(lambda s: s.compute.ns // 1000),
    ),
    _metric(
        "nv_inference_compute_output_duration_us",
        "counter",
        _TRITON.format("the time of making answers"),
        _of(lambda s: s.encode.ns // 1000),
    ),
)

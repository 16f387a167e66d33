"""The metrics of a server, read back by Prometheus' own parser."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import Metric as Family
from prometheus_client.parser import text_string_to_metric_families

import hotlap
from hotlap.errors import Cancelled, DeadlineExceeded, InputError, Overloaded
from hotlap.runtime import FakeRunner
from hotlap.serve.batch import Call
from hotlap.serve.engine import Engine
from hotlap.serve.exposition import Sources, render
from hotlap.serve.job import Job, Timeline
from hotlap.serve.metrics import METRICS
from hotlap.serve.served import Served
from hotlap.serve.shared import SharedMemory
from hotlap.tensors import TensorSpec
from hotlap.wire import InferRequest

X = TensorSpec.of("x", "float32", ["n", 2])


def sources(*names: str) -> Sources:
    models = [Served(name=name, runner=FakeRunner([X], [X])) for name in names]
    return Sources(Engine(models), SharedMemory())


def families(given: Sources) -> dict[str, Family]:
    return {f.name: f for f in text_string_to_metric_families(render(METRICS, given).decode())}


def value(given: Sources, sample: str, **labels: str) -> float:
    # The parser gives every counter a name that ends so; Triton's do not.
    names = {sample, f"{sample}_total"}
    found = [
        s.value for f in families(given).values() for s in f.samples if s.name in names and s.labels == labels
    ]
    assert len(found) == 1, (sample, labels, found)
    return float(found[0])


def test_every_metric_is_told_with_its_kind_its_help_and_its_labels() -> None:
    told = families(sources("m"))
    assert len({m.name for m in METRICS}) == len(METRICS)
    for metric in METRICS:
        # The parser leaves the "_total" of counters out of the family's name.
        family = told.get(metric.name) or told[metric.name.removesuffix("_total")]
        assert (family.type, family.documentation) == (metric.kind, metric.help)
        assert family.samples, metric.name
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(metric.labels)


def test_a_server_before_its_first_request() -> None:
    given = sources("a", "b")
    assert value(given, "hotlap_info", version=hotlap.__version__) == 1
    assert value(given, "hotlap_ready") == 0
    assert value(given, "hotlap_inside") == 0
    for model in ("a", "b"):
        labels = {"model": model, "version": "1"}
        assert value(given, "hotlap_model_ready", **labels) == 0
        assert value(given, "hotlap_requests_total", **labels, outcome="late") == 0
        assert value(given, "hotlap_request_seconds_count", **labels, outcome="ok") == 0
        assert value(given, "hotlap_waiting", **labels) == 0
        assert value(given, "nv_inference_request_failure", **labels, reason="BACKEND") == 0
    for served in given.engine.models.values():
        served.ready = True
    assert value(given, "hotlap_ready") == value(given, "hotlap_model_ready", model="b", version="1") == 1


def test_requests_are_told_under_both_names() -> None:
    given = sources("m")
    model = given.engine.models["m"]
    counted = model.statistics
    for n in range(3):
        timeline = Timeline(arrived=0, decoded=2_000, started=6_000, computed=1_006_000)
        counted.answered(timeline, 1_009_000 + n)
    now = time.perf_counter_ns()
    for error in (InputError("x"), Overloaded("x"), DeadlineExceeded("x"), Cancelled("x"), ValueError("x")):
        counted.refused(error, now)
    job = Job(model, InferRequest(feed={"x": np.zeros((4, 2), np.float32)}), lambda job: None, rows=4)
    counted.executed(Call([job], outcomes=[{}], started=0, computed=1_000_000))

    labels = {"model": "m", "version": "1"}
    for outcome, count in {"ok": 3, "invalid": 1, "refused": 1, "late": 1, "dropped": 1, "failed": 1}.items():
        assert value(given, "hotlap_requests_total", **labels, outcome=outcome) == count
        assert value(given, "hotlap_request_seconds_count", **labels, outcome=outcome) == count
    assert value(given, "hotlap_request_seconds_sum", **labels, outcome="ok") == pytest.approx(3.027003e-3)
    assert value(given, "hotlap_queue_seconds_sum", **labels) == pytest.approx(12e-6)
    assert value(given, "hotlap_compute_seconds_bucket", **labels, le="0.001") == 3
    assert value(given, "hotlap_compute_seconds_bucket", **labels, le="0.0005") == 0
    assert value(given, "hotlap_parse_seconds_total", **labels) == pytest.approx(6e-6)
    assert value(given, "hotlap_encode_seconds_total", **labels) == pytest.approx(9.003e-6)
    assert value(given, "hotlap_rows_total", **labels) == 4
    assert value(given, "hotlap_calls_total", **labels) == 1

    assert value(given, "nv_inference_request_success", **labels) == 3
    for reason, count in {"REJECTED": 2, "CANCELED": 1, "BACKEND": 1, "OTHER": 1}.items():
        assert value(given, "nv_inference_request_failure", **labels, reason=reason) == count
    assert value(given, "nv_inference_count", **labels) == 4
    assert value(given, "nv_inference_exec_count", **labels) == 1
    assert value(given, "nv_inference_request_duration_us", **labels) == 3027
    assert value(given, "nv_inference_queue_duration_us", **labels) == 12
    assert value(given, "nv_inference_compute_input_duration_us", **labels) == 6
    assert value(given, "nv_inference_compute_infer_duration_us", **labels) == 3000
    assert value(given, "nv_inference_compute_output_duration_us", **labels) == 9


def test_names_of_models_cannot_break_the_text() -> None:
    name = 'a"b\\c\nd}'
    assert value(sources(name), "hotlap_rows_total", model=name, version="1") == 0


def test_the_process_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    given = sources()
    assert 0 < value(given, "process_cpu_seconds_total") <= time.process_time()
    assert 0 < value(given, "process_start_time_seconds") <= time.time()
    if Path("/proc/self/statm").exists():
        assert value(given, "process_resident_memory_bytes") > 10_000_000
        assert value(given, "process_open_fds") >= 3

    def nowhere(*_: object, **__: object) -> object:
        raise OSError

    monkeypatch.setattr(Path, "read_text", nowhere)
    monkeypatch.setattr(os, "listdir", nowhere)
    assert families(given)["process_resident_memory_bytes"].samples == []
    assert families(given)["process_open_fds"].samples == []


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm, which Linux has")
def test_regions_of_shared_memory() -> None:
    given = sources()
    path = Path(f"/dev/shm/hotlap-test-metrics-{os.getpid()}")
    path.write_bytes(bytes(100))
    try:
        given.shared.register("r", path.name, 10, 30)
        given.shared.register("s", path.name, 0, 5)
        assert value(given, "hotlap_shared_memory_regions") == 2
        assert value(given, "hotlap_shared_memory_bytes") == 35
    finally:
        path.unlink()

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from hotlap.bench import ProcessResult, Target, Workload
from hotlap.errors import ProviderUnavailable, TargetFailed
from hotlap.plan import ModelRef, Plan
from hotlap.tune import heats as module
from hotlap.tune.candidates import Candidate
from hotlap.tune.heats import Clock, Heats

MODEL = ModelRef(path="m.onnx", digest="sha256:" + "0" * 64)


def result(label: str, p50: float, cpu: float = 1.0) -> ProcessResult:
    return ProcessResult(
        label=label,
        samples=b"",
        calls=10,
        p50=p50,
        p95=p50 * 2,
        load_s=0,
        first_call_s=0,
        wall_s=1,
        cpu_s=cpu * 10,
    )


class Track:
    """Scripted processes in place of real ones: p50 by label; an exception is raised."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: dict[str, Any]) -> None:
        self.ran: list[str] = []
        self.workloads: list[Workload] = []

        def run_once(target: Target, workload: Workload, *args: Any, **kwargs: Any) -> ProcessResult:
            self.ran.append(target.label)
            self.workloads.append(workload)
            found = times[target.label]
            if isinstance(found, Exception):
                raise found
            return result(target.label, found)

        monkeypatch.setattr(module, "run_once", run_once)


def heats(*labels: str) -> Heats:
    candidates = [Candidate(label=name, plan=Plan(model=MODEL, threads=1)) for name in labels]
    return Heats(Target.default("m.onnx"), candidates, Path("feeds"), Clock(90), Path())


def test_a_round_measures_each_candidate_and_the_default_once(monkeypatch: pytest.MonkeyPatch) -> None:
    track = Track(monkeypatch, {"default": 2.0, "a": 1.0, "b": 4.0})
    found = heats("a", "b")
    found.round(time.monotonic() + 60)
    assert sorted(track.ran) == ["a", "b", "default"]
    assert found.speedup("a") == 2.0
    assert found.speedup("b") == 0.5
    assert found.cpu_ratio("a") == 1.0


def test_a_provider_that_refuses_the_model_is_a_row_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = TargetFailed("a: refused")
    refusal.__cause__ = ProviderUnavailable("openvino does not take this model: If")
    Track(monkeypatch, {"default": 1.0, "a": refusal, "b": 1.0})
    found = heats("a", "b")
    found.round(time.monotonic() + 60)
    assert found.failed == {"a": "openvino does not take this model: If"}
    assert found.race.running == ["b"]
    assert found.speedup("a") is None


def test_when_the_default_itself_fails_there_is_nothing_to_be_faster_than(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Track(monkeypatch, {"default": TargetFailed("default: the process crashed (SIGSEGV)")})
    with pytest.raises(TargetFailed, match="SIGSEGV"):
        heats("a").first()


def test_no_process_starts_after_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    track = Track(monkeypatch, {"default": 1.0, "a": 1.0})
    found = heats("a")
    found.round(time.monotonic() - 1)
    assert track.ran == []


@pytest.mark.parametrize(("p50", "seconds"), [(1e-5, 0.3), (0.02, 0.5), (10.0, 2.0)])
def test_slow_models_get_more_seconds_a_process(
    monkeypatch: pytest.MonkeyPatch, p50: float, seconds: float
) -> None:
    track = Track(monkeypatch, {"default": p50, "a": p50})
    found = heats("a")
    found.first()
    found.round(time.monotonic() + 60)
    assert track.workloads[-1].seconds == pytest.approx(seconds)


def test_the_clock_tells_what_is_going_on() -> None:
    heard: list[tuple[float, str]] = []
    clock = Clock(10, lambda spent, what: heard.append((spent, what)))
    clock.say("reading")
    assert heard[0][1] == "reading"
    assert 0 <= heard[0][0] <= 10
    assert clock.left <= 10

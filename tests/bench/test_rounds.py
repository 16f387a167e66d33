from __future__ import annotations

import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.bench import ProcessResult, Target, Workload, compare, measure, rounds
from hotlap.bench.rounds import balanced
from hotlap.errors import InputError, TargetFailed, UsageError
from tests import tiny
from tests.bench.results import process

QUICK = Workload(seconds=0.05, warmup=0.0, processes=2)
A, B = (Target(label=name, kind="default", model=f"/{name}.onnx") for name in "ab")


class Script:
    """Stands in for the processes: gives each target's next result, and remembers who ran when."""

    def __init__(self, **results: list[ProcessResult]) -> None:
        self.results = {label: iter(found) for label, found in results.items()}
        self.ran: list[str] = []
        self.turns: list[int] = []

    def __call__(
        self, target: Target, workload: Workload, feeds: Path, *, rows: bool, turn: int
    ) -> ProcessResult:
        self.ran.append(target.label)
        self.turns.append(turn)
        return next(self.results[target.label])


def script(monkeypatch: pytest.MonkeyPatch, **results: list[ProcessResult]) -> Script:
    made = Script(**results)
    monkeypatch.setattr(rounds, "run_once", made)
    return made


FEEDS = [{"x": np.ones(1)}]


def test_the_order_is_balanced() -> None:
    assert balanced(2, 4) == [0, 1, 1, 0, 0, 1, 1, 0]


@given(st.integers(1, 4), st.integers(0, 12))
def test_every_round_has_each_side_once_and_a_steady_drift_cancels(sides: int, count: int) -> None:
    order = balanced(sides, count)
    assert [sorted(order[n : n + sides]) for n in range(0, len(order), sides)] == [list(range(sides))] * count
    if count % 2 == 0:
        places = [[n for n, side in enumerate(order) if side == s] for s in range(sides)]
        assert len({sum(p) for p in places}) <= 1


def test_both_sides_run_in_turn_and_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = script(monkeypatch, a=[process(0.02)] * 6, b=[process(0.01)] * 6)
    told: list[tuple[int, int, str]] = []
    found = compare(A, B, Workload(processes=6), FEEDS, lambda *what: told.append(what))
    assert "".join(ran.ran) == "abbaabbaabba"
    assert ran.turns == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [p.order for p in found.a.processes] == [0, 3, 4, 7, 8, 11]
    assert found.verdict == "faster" and found.ratio == pytest.approx(2.0)
    assert told[0] == (0, 12, "a") and told[1] == (1, 12, "b") and told[-1] == (12, 12, "")


def test_a_disturbed_process_is_measured_once_more_and_the_calmer_one_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noisy, calm, noisier = process(0.01, foreign=0.2), process(0.03, foreign=0.01), process(foreign=0.4)
    results = [noisy, calm, noisy, noisier, *[process()] * 10]
    ran = script(monkeypatch, a=results)
    (first, second, *_) = measure(A, Workload(processes=8), FEEDS).processes
    assert len(ran.ran) == 10
    assert (first.p50, first.foreign, first.retried) == (0.03, 0.01, 1)
    assert (second.foreign, second.retried) == (0.2, 1)


def test_a_loud_machine_does_not_make_it_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = script(monkeypatch, a=[process(foreign=0.5)] * 40)
    measure(A, Workload(processes=8), FEEDS)
    assert len(ran.ran) == 8 + 2


def test_no_round_starts_that_would_end_too_late_and_one_runs_in_any_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = script(monkeypatch, a=[process()] * 9, b=[process()] * 9)
    found = compare(A, B, Workload(processes=9), FEEDS, until=time.monotonic() - 1)
    assert ran.ran == ["a", "b"]
    assert len(found.a.processes) == len(found.b.processes) == 1


def test_rounds_go_on_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = script(monkeypatch, a=[process()] * 4, b=[process()] * 4)
    compare(A, B, Workload(processes=4), FEEDS, until=time.monotonic() + 3600)
    assert len(ran.ran) == 8


def test_broken_data_is_told_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran = script(monkeypatch)
    (tmp_path / "x.npz").write_bytes(b"broken")
    with pytest.raises(InputError, match=r"x\.npz"):
        measure(A, QUICK, tmp_path)
    with pytest.raises(UsageError, match="no such file"):
        measure(A, QUICK, tmp_path / "none")
    assert ran.ran == []


def test_a_real_model_against_itself_handicapped_several_times_over(tmp_path: Path) -> None:
    model = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    slow = Target.default(model, label="handicapped", handicap=9.0)
    found = compare(Target.default(model), slow, msgspec.structs.replace(QUICK, processes=4))
    assert found.verdict == "slower" and found.ratio < 0.5
    assert found.a.generated and len(found.a.processes) == len(found.b.processes) == 4
    assert found.a.machine["versions"]["numpy"] == np.__version__


def test_given_feeds_are_what_is_measured(tmp_path: Path) -> None:
    model = tiny.save(tiny.add(), tmp_path / "m.onnx")
    good, bad = np.ones((1, 4), np.float32), np.ones((1, 5), np.float32)
    assert not measure(Target.default(model), QUICK, [{"x": good}]).generated
    with pytest.raises(TargetFailed) as caught:
        measure(Target.default(model), QUICK, [{"x": bad}])
    assert isinstance(caught.value.__cause__, InputError)

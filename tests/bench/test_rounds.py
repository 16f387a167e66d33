from __future__ import annotations

import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.bench import ProcessResult, Target, Workload, compare, compare_each, load_feeds, measure, rounds
from hotlap.bench.rounds import balanced
from hotlap.bench.slowest import InputTime
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


def test_several_targets_run_in_one_run_and_pairs_of_them_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    c = Target(label="c", kind="default", model="/c.onnx")
    ran = script(monkeypatch, a=[process(0.02)] * 6, b=[process(0.01)] * 6, c=[process(0.03)] * 6)
    faster, slower = compare_each([A, B, c], [(0, 1), (0, 2)], Workload(processes=6), FEEDS)
    assert "".join(ran.ran) == "abccbaabccbaabccba"
    assert (faster.verdict, slower.verdict) == ("faster", "slower")
    assert faster.a is slower.a and faster.looks == slower.looks == 2
    with pytest.raises(UsageError, match="nothing to compare"):
        compare_each([A], [], Workload(), FEEDS)


def test_a_measurement_that_was_disturbed_is_void_and_says_so_first(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, a=[process(foreign=0.5)] * 40)
    found = measure(A, Workload(processes=8), FEEDS)
    assert found.void and found.doubts[0].startswith("void: other work disturbed 100 %")


def test_the_slowest_inputs_are_described_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    times = tuple(InputTime(index=n, calls=4, median_s=n / 1000, worst_s=n / 100) for n in (2, 1, 0))
    script(monkeypatch, a=[process(slowest=times)] * 3)
    feeds = [{"x": np.full((1, 4), n, np.float32)} for n in range(3)]
    feeds[2]["x"][0, 0] = 1e-39
    found = measure(A, Workload(processes=3), feeds, keep_inputs=tmp_path / "slow")
    assert [(s.index, s.calls, s.worst_s) for s in found.slowest] == [
        (2, 12, 0.02),
        (1, 12, 0.01),
        (0, 12, 0.0),
    ]
    assert found.slowest[0].tensors["x"].denormals == 1
    assert {p.name for p in (tmp_path / "slow").iterdir()} == {"000000.npz", "000001.npz", "000002.npz"}
    assert load_feeds(tmp_path / "slow" / "000002.npz")[0]["x"][0, 1] == 2


def test_made_ids_lie_inside_the_table_and_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    from hotlap.runtime import file_digest

    model = tiny.save(tiny.gather_mask(rows=3), tmp_path / "m.onnx")
    found = measure(Target.default(model), Workload(iterations=3, warmup=0, processes=1))
    assert found.digest == file_digest(model) and found.calls == 3


def test_a_model_without_inputs_is_measured_too(tmp_path: Path) -> None:
    model = tiny.save(tiny.no_input(), tmp_path / "m.onnx")
    assert measure(Target.default(model), Workload(iterations=3, warmup=0, processes=1)).calls == 3

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hotlap.errors import UsageError
from hotlap.plan import Plan
from hotlap.tune.tuning import FORMAT, Budget, Trial, Tuning


def a_tuning() -> Tuning:
    return Tuning(
        source="m.onnx", plan=Plan(threads=2), chosen="cpu, 1 thread", won=False, said="Nothing.",
        trials=(Trial(label="cpu, 1 thread", plan=Plan(threads=1), status="failed", reason="it crashed"),),
        baseline=(), comparison=None, verdict=None, machine={"os": "x"}, generated=True, feeds=1, seconds=9.5,
        budget=Budget(seconds=10), date="2026-01-01T00:00:00+00:00",
    )  # fmt: skip


def test_what_is_saved_is_what_is_read_back(tmp_path: Path) -> None:
    a_tuning().save(tmp_path / "tuning.json")
    assert Tuning.load(tmp_path / "tuning.json") == a_tuning()


def test_a_tuning_of_a_newer_hotlap_says_so(tmp_path: Path) -> None:
    newer = msgspec.structs.replace(a_tuning(), format=FORMAT + 1)
    newer.save(tmp_path / "tuning.json")
    with pytest.raises(UsageError, match="newer hotlap"):
        Tuning.load(tmp_path / "tuning.json")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', "null"])
def test_what_is_no_tuning_is_one_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "tuning.json").write_text(text)
    with pytest.raises(UsageError, match="tuning"):
        Tuning.load(tmp_path / "tuning.json")


@pytest.mark.parametrize("seconds", [9.99, -1, float("nan"), float("inf"), 86_401])
def test_a_budget_in_which_nothing_can_be_measured_is_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match="10 seconds to a day"):
        Budget(seconds=seconds)

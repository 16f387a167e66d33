from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from hotlap.bench import append_history, compare_measurements, read_history
from hotlap.errors import StorageError, UsageError
from tests.bench.results import measurement

EVEN = [0.01 * (1 + n / 1000) for n in range(12)]


def test_runs_are_appended_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    first = append_history(file, measurement(EVEN, digest="sha256:0"))
    second = append_history(file, compare_measurements(measurement(EVEN), measurement([p / 2 for p in EVEN])))
    assert read_history(file) == [first, second]
    assert len(file.read_text().splitlines()) == 2


def test_a_line_holds_what_a_plot_needs(tmp_path: Path) -> None:
    entry = append_history(tmp_path / "h.jsonl", measurement(EVEN, digest="sha256:0"))
    assert entry.target == "default" and entry.digest == "sha256:0" and entry.against is None
    assert entry.percentiles["p50"] == pytest.approx((0.010055, 0.01002, 0.01009), rel=2e-3)
    assert set(entry.percentiles) == {"p50", "p90", "p95"}  # 600 calls support no p99
    assert (entry.calls, entry.processes) == (600, 12)
    assert entry.rate == pytest.approx(1 / 0.010055, rel=1e-3)
    assert json.loads((tmp_path / "h.jsonl").read_text())["percentiles"]["p50"][0] == pytest.approx(0.010055)


def test_a_comparison_adds_its_verdict_and_a_void_run_says_so(tmp_path: Path) -> None:
    from tests.bench.results import process

    loud = measurement(EVEN, processes=tuple(process(p, order=n, foreign=0.5) for n, p in enumerate(EVEN)))
    entry = append_history(tmp_path / "h.jsonl", compare_measurements(loud, loud))
    assert (entry.verdict, entry.against, entry.void) == ("no difference", "default", True)
    assert entry.ratio == pytest.approx(1) and entry.doubts[0].startswith("void")


def test_a_torn_line_is_left_out_and_the_next_run_is_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "h.jsonl"
    append_history(file, measurement(EVEN))
    with file.open("a") as torn:
        torn.write('{"format":1,"date":"20')
    entry = append_history(file, measurement(EVEN))
    with caplog.at_level(logging.WARNING, "hotlap.bench"):
        assert len(read_history(file)) == 2 and read_history(file)[1] == entry
    assert "line 2: left out" in caplog.text


def test_what_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_history(tmp_path / "none.jsonl")
    with pytest.raises(StorageError, match="not written"):
        append_history(tmp_path / "no folder" / "h.jsonl", measurement(EVEN))
    (tmp_path / "new.jsonl").write_text(
        '{"format":9,"date":"","target":"","rate":1,"cpu_per_call":1,"calls":1,"processes":1}\n'
    )
    with pytest.raises(UsageError, match="newer hotlap"):
        read_history(tmp_path / "new.jsonl")

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.bench import Measurement
from hotlap.bench.measurement import FORMAT
from hotlap.bench.result import pack
from hotlap.errors import StorageError, UsageError
from tests.bench.results import measurement, process


@given(st.lists(st.integers(0, 2**62), min_size=1))
def test_every_latency_comes_back(latencies: list[int]) -> None:
    packed = process(samples=pack(np.array(latencies, dtype=np.int64)))
    assert packed.latencies_ns.tolist() == latencies


def test_a_process_tells_percentiles_and_cpu_time_for_each_request() -> None:
    one = process(samples=pack(np.arange(1, 102, dtype=np.int64) * 1_000_000), calls=101, cpu_s=2.02)
    assert one.percentile(50) == pytest.approx(0.051)
    assert one.percentile(95) == pytest.approx(0.096)
    assert one.cpu_per_call == pytest.approx(0.02)


def test_one_slow_process_does_not_move_a_percentile() -> None:
    m = measurement([0.01, 0.011, 0.012, 0.5, 0.0105])
    assert m.p50 == m.p90 == m.p95 == m.p99 == pytest.approx(0.011)
    assert m.calls == 250
    assert m.log_percentiles(50).tolist() == pytest.approx(np.log([0.01, 0.011, 0.012, 0.5, 0.0105]))


def test_disturbance_is_other_work_and_steal_together_or_unknown() -> None:
    assert process(foreign=0.03, steal=0.04).disturbance == pytest.approx(0.07)
    assert process(foreign=0.03, steal=None).disturbance == pytest.approx(0.03)
    assert process(foreign=None, steal=None).disturbance is None


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    m = measurement([0.01, 0.02], doubts=("a doubt",), generated=True)
    m.save(file)
    assert Measurement.load(file) == m
    assert msgspec.json.decode(file.read_bytes())["format"] == FORMAT


def test_the_saved_samples_can_be_read_by_anyone(tmp_path: Path) -> None:
    import base64
    import json
    import struct
    import zlib

    file = tmp_path / "m.json"
    measurement([0.01]).save(file)
    raw = zlib.decompress(base64.b64decode(json.loads(file.read_text())["processes"][0]["samples"]))
    assert struct.unpack(f"<{len(raw) // 8}q", raw) == (10_000_000,) * 50


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"format": 99}', f"format 99, known: {FORMAT}"),
        ('{"format": 1}', "not a saved measurement"),
        ("{}", "not a saved measurement"),
        ("nonsense", "not a saved measurement"),
        ("", "not a saved measurement"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "m.json"
    file.write_text(content)
    with pytest.raises(UsageError, match=told):
        Measurement.load(file)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.json: No such file"):
        Measurement.load(tmp_path / "none.json")


def test_where_it_cannot_be_written_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="not written"):
        measurement([0.01]).save(tmp_path / "no folder" / "m.json")
    assert list(tmp_path.iterdir()) == []

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from hotlap.bench import Measurement
from hotlap.bench.measurement import FORMAT, kind_of
from hotlap.bench.result import pack
from hotlap.errors import StorageError, UsageError, VerificationFailed
from tests.bench.results import measurement, process


def test_one_slow_process_does_not_move_a_percentile() -> None:
    m = measurement([0.01, 0.011, 0.012, 0.5, 0.0105])
    assert m.p50 == m.p90 == m.p95 == m.p99 == pytest.approx(0.011)
    assert m.calls == 250
    assert m.log_percentiles(50).tolist() == pytest.approx(np.log([0.01, 0.011, 0.012, 0.5, 0.0105]))


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
        ('{"format": 2}', "not a saved measurement"),
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


def test_a_range_a_mean_and_a_rate() -> None:
    slow = pack(np.array([1, 2, 9], np.int64) * 1_000_000)
    m = measurement(
        [0.01], processes=(process(samples=slow, calls=3, wall_s=0.5), process(calls=50, wall_s=0.5))
    )
    assert (m.min, m.max) == pytest.approx((0.001, 0.01))
    assert m.mean == pytest.approx((0.004 + 0.01) / 2)
    assert m.rate == pytest.approx((6 + 100) / 2)


def test_percentiles_that_the_samples_do_not_support_are_none() -> None:
    m = measurement([0.01] * 12)
    assert m.quantile(50) == pytest.approx((0.01, 0.01, 0.01, False))
    assert m.quantile(99) is None and m.quantile(99.9) is None


def test_limits_are_checked_and_all_that_are_broken_are_told() -> None:
    m = measurement([0.01 * (1 + n / 1000) for n in range(12)])
    assert m.check(p50=0.011, p95=0.0101) is m
    with pytest.raises(
        VerificationFailed, match=r"default: p50 is 10\.1 ms \(10 to 10\.1 ms\), over 5 ms; p95"
    ):
        m.check(p50=0.005, p95=0.009)
    with pytest.raises(VerificationFailed, match=r"p99\.9 needs 10,000 samples, there are 600"):
        m.check(p99_9=1)
    for wrong in ("fifty", "p0", "p100", "50", "pp5"):
        with pytest.raises(UsageError, match="is no percentile"):
            m.check(**{wrong: 1.0})
    assert measurement([0.01], void=True).check(p50=1e-9).void


def test_format_1_is_still_read(tmp_path: Path) -> None:
    old = Measurement.load(Path(__file__).parent / "formats" / "v1-measurement.json")
    assert old.format == 1 and old.calls == 1330
    assert old.p50 == pytest.approx(3.986e-6)
    assert (old.void, old.digest, old.slowest, old.workload.arrivals) == (False, None, (), "closed")
    assert old.processes[0].start_s is None and old.processes[0].services is None
    old.save(tmp_path / "again.json")
    assert Measurement.load(tmp_path / "again.json") == old


def test_what_a_file_holds_is_told_without_reading_it_whole(tmp_path: Path) -> None:
    measurement([0.01]).save(tmp_path / "m.json")
    (tmp_path / "c.json").write_text('{"format": 2, "ratio": 1}')
    (tmp_path / "x.json").write_text("[]")
    assert [kind_of(tmp_path / f) for f in ("m.json", "c.json", "x.json", "none.json")] == [
        "measurement",
        "comparison",
        "something else",
        "something else",
    ]

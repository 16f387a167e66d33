from __future__ import annotations

import time

import pytest

from hotlap.bench import counters
from hotlap.bench.counters import CpuTimes
from hotlap.bench.meter import Meter


def test_it_tells_what_happened_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([CpuTimes(10, 1, 100), CpuTimes(11, 1.1, 102)])
    monkeypatch.setattr(counters, "cpu_times", lambda: next(times))
    monkeypatch.setattr(counters, "throttled", iter([3, 5]).__next__)
    monkeypatch.setattr(counters, "switches", iter([7, 19]).__next__)
    meter = Meter()
    meter.begin()
    time.sleep(0.02)
    meter.end()
    assert (meter.throttled, meter.switches) == (2, 12)
    assert 0.02 <= meter.wall_s < 5 and 0 <= meter.cpu_s < meter.wall_s + 0.02
    assert meter.foreign == pytest.approx(0.5, abs=0.02) and meter.steal == pytest.approx(0.05)


def test_what_the_system_does_not_tell_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cpu_times", "throttled", "switches"):
        monkeypatch.setattr(counters, name, lambda: None)
    meter = Meter()
    meter.begin()
    meter.end()
    assert (meter.foreign, meter.steal, meter.switches, meter.throttled) == (None,) * 4

from __future__ import annotations

import numpy as np
import pytest

from hotlap.bench import Target, Workload, compare_measurements
from hotlap.bench.result import pack
from hotlap.bench.slowest import SlowInput, SlowTensor
from hotlap.cli.measured import describe, document, for_json, print_comparisons, print_measurement, time_label
from tests.bench.results import measurement, process

EVEN = [0.01 * (1 + n / 1000) for n in range(12)]


def lines(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The table's rows: what to the rest of the line."""
    found = capsys.readouterr().out.splitlines()
    return {k.strip(): v.strip() for k, _, v in (line.partition("  ") for line in found) if v.strip()}


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (1.5, "1.5 s"),
        (0.0123, "12.3 ms"),
        (0.9999, "1 s"),
        (0.9991, "999 ms"),
        (4.2e-6, "4.2 µs"),
        (1234.0, "1234 s"),
        (0.0, "0 µs"),
    ],
)
def test_times_have_three_digits_in_the_unit_that_fits(seconds: float, told: str) -> None:
    assert time_label(seconds) == told


def test_percentiles_have_intervals_and_are_refused_where_the_samples_do_not_support_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_measurement(measurement(EVEN))
    rows = lines(capsys)
    assert rows["p50"].startswith("10.1 ms (10 to 10.1 ms)")
    assert rows["p99"] == "needs 1,000 calls" and rows["p99.9"] == "needs 10,000 calls"
    assert rows["requests a second"] == "99.5"


def test_a_cold_start_stands_apart(capsys: pytest.CaptureFixture[str]) -> None:
    cold = {
        "start_s": 0.02,
        "import_s": 0.2,
        "load_s": 0.1,
        "first_call_s": 0.05,
        "first_by_shape": {"x 1x8": 0.05, "x 1x16": 0.3},
        "steady_after": 4,
        "overhead_s": 1.5e-7,
        "rss_peak": 100 << 20,
        "rss_settled": 80 << 20,
    }
    print_measurement(
        measurement(EVEN, processes=tuple(process(p, order=n, **cold) for n, p in enumerate(EVEN)))
    )
    rows = lines(capsys)
    assert rows["process start"] == "20 ms" and rows["importing"] == "200 ms" and rows["loading"] == "100 ms"
    assert rows["first call"] == "50 ms" and rows["steady after"] == "4 calls"
    assert rows["slowest first call of a shape"] == "300 ms (x 1x16)"
    assert rows["the harness adds, a call"] == "0.15 µs"
    assert rows["memory: peak, settled"] == "100 MiB, 80 MiB"


def test_a_void_measurement_says_so_first(capsys: pytest.CaptureFixture[str]) -> None:
    print_measurement(measurement(EVEN, void=True, doubts=("void: noise",)))
    out = capsys.readouterr().out
    assert out.startswith("VOID: other work disturbed this run, so the numbers say nothing")
    assert "doubt: void: noise" in out


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        (Workload(), "traffic: closed loop, 1 caller\n"),
        (Workload(concurrency=2, gap=0.05), "closed loop, 2 callers, a pause of 50 ms before each call"),
        (
            Workload(arrivals="poisson", rate=50),
            "open loop, 50 requests a second at random (Poisson), 1 caller; lat",
        ),
        (
            Workload(arrivals="trace", trace=(0.0, 1.0)),
            "a recorded trace of 2 arrivals, 1 caller; latency counts",
        ),
    ],
)
def test_the_traffic_is_said(workload: Workload, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    busy = tuple(process(p, services=pack(np.full(50, 1, np.int64))) for p in EVEN)
    print_measurement(measurement(EVEN, workload=workload, processes=busy))
    assert told in capsys.readouterr().out


def test_the_slowest_inputs_are_shown_where_they_are_slower(capsys: pytest.CaptureFixture[str]) -> None:
    tensor = SlowTensor(shape=(1, 9), dtype="float32", digest="0" * 16, low=-1, high=2, denormals=1234)
    slow = (SlowInput(index=7, calls=3, median_s=0.02, worst_s=0.05, tensors={"x": tensor}),)
    print_measurement(measurement(EVEN, slowest=slow))
    out = capsys.readouterr().out
    (row,) = (line for line in out.splitlines() if line.startswith("number 7"))
    assert row.split() == [
        "number",
        "7",
        "20",
        "ms",
        "50",
        "ms",
        "x",
        "1x9",
        "-1",
        "to",
        "2,",
        "1,234",
        "denormal",
    ]
    print_measurement(measurement([0.02] * 12, slowest=slow))
    assert "number 7" not in capsys.readouterr().out


def test_sameness_and_a_lack_of_data_are_different_words(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparisons([compare_measurements(measurement(EVEN), measurement(EVEN))])
    assert "the same within 2 %" in capsys.readouterr().out
    spread = measurement([p * (1 + 0.05 * (-1) ** n) for n, p in enumerate(EVEN)])
    print_comparisons([compare_measurements(spread, spread)])
    assert "not enough data to say more: they differ by" in capsys.readouterr().out


def test_several_comparisons_show_each_side_once(capsys: pytest.CaptureFixture[str]) -> None:
    sides = {
        name: measurement(EVEN, target=Target(label=name, kind="default", model=f"/{name}.onnx"))
        for name in "abc"
    }
    print_comparisons([compare_measurements(sides["a"], sides[n], looks=2) for n in "bc"])
    out = capsys.readouterr().out
    assert out.count("b against a") == out.count("c against a") == 1
    assert sum(line.split()[-3:] == ["a", "b", "c"] for line in out.splitlines()) == 1


def test_json_leaves_out_what_would_bury_the_rest() -> None:
    value = {"samples": "x", "services": "y", "p50": 1, "list": [{"samples": 2, "trace": [1], "b": 3}]}
    assert for_json(value) == {"p50": 1, "list": [{"b": 3}]}


def test_what_ran_is_described() -> None:
    assert describe(Target.calling("net:predict")) == "the callable net:predict"
    assert "no options" in describe(Target.default("m.onnx"))


def test_a_document_has_the_percentiles_that_are_supported() -> None:
    one = measurement(EVEN)
    assert set(document([one])["summary"]["percentiles"]) == {"p50", "p90", "p95"}
    found = document([compare_measurements(one, one)])
    assert found["summary"]["baseline"]["percentiles"] == found["summary"]["candidate"]["percentiles"]
    assert found["summary"]["candidate"]["against"] == "default" and "samples" not in str(found)
    assert len(document([compare_measurements(one, one)] * 2)["comparisons"]) == 2

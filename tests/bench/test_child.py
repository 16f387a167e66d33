from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hotlap.bench import Target, Workload, load_feeds, save_feeds, traffic
from hotlap.bench.child import make_feeds, measure_once
from hotlap.bench.data import Feed
from hotlap.bench.exchange import Request
from hotlap.bench.loop import Call, closed_loop
from hotlap.errors import InputError, ModelError
from tests import tiny

QUICK = Workload(seconds=0.02, warmup=0.0, processes=1)


def request(model: Path, feeds: Path, **fields: object) -> Request:
    return Request(
        target=Target.default(model), workload=QUICK, feeds=str(feeds), outcome="", **fields  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save(tiny.add(), tmp_path / "m.onnx")


def test_one_measurement_holds_all_that_is_promised(model: Path, tmp_path: Path) -> None:
    feeds = save_feeds(tmp_path / "feeds", [{"x": np.ones((2, 4), np.float32)}])
    result = measure_once(request(model, feeds))
    latencies = result.latencies_ns
    assert len(latencies) == result.calls >= 3
    assert result.p50 == pytest.approx(np.median(latencies) / 1e9)
    assert 0 < result.p50 <= result.p95 < result.wall_s
    assert result.load_s > 0 and result.first_call_s > 0 and result.cpu_s > 0
    assert result.threads >= 1


def test_rows_are_split_in_the_child(model: Path, tmp_path: Path) -> None:
    feeds = save_feeds(tmp_path / "feeds", [{"x": np.ones((5, 4), np.float32)}])
    assert measure_once(request(model, feeds, rows=True)).calls >= 3


def test_each_turn_has_an_order_of_its_own_and_both_sides_the_same(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feeds = save_feeds(tmp_path / "feeds", [{"x": np.full((1, 4), n, np.float32)} for n in range(20)])
    orders = []

    def loop(call: Call, given: list[Feed], *rest: object) -> object:
        if len(given) > 1:  # the harness measures itself on one
            orders.append([int(feed["x"][0, 0]) for feed in given])
        return closed_loop(call, given, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(traffic, "closed_loop", loop)
    for turn in (0, 0, 1):
        assert measure_once(request(model, feeds, turn=turn)).feeds == 20
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == list(range(20))


def test_a_feed_that_does_not_fit_is_told(model: Path, tmp_path: Path) -> None:
    feeds = save_feeds(tmp_path / "feeds", [{"x": np.ones((2, 5), np.float32)}])
    with pytest.raises(InputError):
        measure_once(request(model, feeds))


def test_a_file_that_is_no_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_text("no model")
    with pytest.raises(ModelError):
        measure_once(request(tmp_path / "m.onnx", tmp_path))


def test_a_made_feed_fits_and_depends_on_the_seed_alone(model: Path, tmp_path: Path) -> None:
    make_feeds(request(model, tmp_path / "a", make=True))
    make_feeds(request(model, tmp_path / "b", make=True))
    ((a,), (b,)) = load_feeds(tmp_path / "a"), load_feeds(tmp_path / "b")
    assert a["x"].shape[1] == 4 and a["x"].dtype == np.float32
    np.testing.assert_array_equal(a["x"], b["x"])


def test_a_model_that_takes_nothing_needs_no_feed(tmp_path: Path) -> None:
    model = tiny.save(tiny.no_input(), tmp_path / "m.onnx")
    make_feeds(request(model, tmp_path / "feeds", make=True))
    assert measure_once(request(model, tmp_path / "feeds")).calls >= 3


def test_a_cold_start_is_told_in_parts(model: Path, tmp_path: Path) -> None:
    from time import time

    feeds = save_feeds(tmp_path / "feeds", [{"x": np.ones((n, 4), np.float32)} for n in (1, 2, 3)])
    now = time()
    result = measure_once(request(model, feeds, started=now - 2), now - 1.5)
    assert result.start_s == pytest.approx(0.5)
    assert result.import_s is not None and 1.5 <= result.import_s < 30
    assert set(result.first_by_shape) == {"x 1x4", "x 2x4", "x 3x4"}
    assert result.first_by_shape["x 1x4"] == result.first_call_s
    assert result.overhead_s is not None and 0 < result.overhead_s < 1e-4
    assert result.rss_settled is None or 0 < result.rss_settled <= (result.rss_peak or 0)
    assert measure_once(request(model, feeds)).start_s is None


def test_the_slowest_inputs_are_named_by_their_place_in_the_data(model: Path, tmp_path: Path) -> None:
    """By far the largest one, wherever the order of the turn put it."""
    large = [{"x": np.ones((100_000 if n == 3 else 1, 4), np.float32)} for n in range(6)]
    feeds = save_feeds(tmp_path / "feeds", large)
    for turn in range(2):
        result = measure_once(request(model, feeds, turn=turn))
        assert result.slowest[0].index == 3 and len(result.slowest) == 6


@pytest.mark.parametrize(
    "traffic",
    [{"concurrency": 2}, {"gap": 0.001}, {"arrivals": "poisson", "rate": 500.0, "concurrency": 2}],
)
def test_every_kind_of_traffic_is_measured(model: Path, tmp_path: Path, traffic: dict[str, object]) -> None:
    feeds = save_feeds(tmp_path / "feeds", [{"x": np.ones((1, 4), np.float32)}])
    workload = Workload(warmup=0.0, processes=1, iterations=12, **traffic)  # type: ignore[arg-type]
    result = measure_once(
        Request(target=Target.default(model), workload=workload, feeds=str(feeds), outcome="")
    )
    assert result.calls == 12 == len(result.latencies_ns)
    assert (result.services is None) != workload.open
    assert (result.services_ns <= result.latencies_ns).all()
    assert (result.late_s is None) != workload.open

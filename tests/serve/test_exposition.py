"""The text format of metrics, read back by Prometheus' own parser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from hotlap.serve.exposition import Metric, Sample, render
from hotlap.serve.statistics import BOUNDS, Spread

NOTHING: Any = None


def read(*metrics: Metric) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    families = text_string_to_metric_families(render(metrics, NOTHING).decode())
    return {(s.name, frozenset(s.labels.items())): s.value for f in families for s in f.samples}


def gauge(*samples: Sample) -> Metric:
    def now(sources: object) -> Iterator[Sample]:
        yield from samples

    return Metric("g", "gauge", "One line.", ("a",), now)


def key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def test_help_and_kind_stand_before_the_samples() -> None:
    text = render([gauge(({}, 1), ({"a": "b"}, 2.5))], NOTHING).decode()
    assert text == '# HELP g One line.\n# TYPE g gauge\ng 1\ng{a="b"} 2.5\n'


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False))
def test_any_label_and_any_number_come_back(label: str, value: float) -> None:
    assert read(gauge(({"a": label}, value))) == {key("g", a=label): value}


def test_large_counts_keep_every_digit() -> None:
    assert render([gauge(({}, 2**53 - 1))], NOTHING).endswith(b"g 9007199254740991\n")


def test_a_histogram_is_cumulative_and_in_seconds() -> None:
    spread = Spread()
    for ns in (10_000, 10_001, 3_000_000, 60_000_000_000):
        spread.add(ns)

    def now(sources: object) -> Iterator[Sample]:
        yield {"model": "m"}, spread

    told = read(Metric("h_seconds", "histogram", "Times.", ("model",), now))
    assert told[key("h_seconds_bucket", model="m", le="1e-05")] == 1
    assert told[key("h_seconds_bucket", model="m", le="2e-05")] == 2
    assert told[key("h_seconds_bucket", model="m", le="0.002")] == 2
    assert told[key("h_seconds_bucket", model="m", le="0.005")] == 3
    assert told[key("h_seconds_bucket", model="m", le="10")] == 3
    assert told[key("h_seconds_bucket", model="m", le="+Inf")] == told[key("h_seconds_count", model="m")] == 4
    assert told[key("h_seconds_sum", model="m")] == 60.003020001
    assert len(told) == len(BOUNDS) + 3

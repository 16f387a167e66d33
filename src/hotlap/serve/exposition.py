"""Metrics as text, in the format that Prometheus reads: `render`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotlap.serve.statistics import BOUNDS, Spread

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine
    from hotlap.serve.shared import SharedMemory

__all__ = ["CONTENT_TYPE", "Labels", "Metric", "Sample", "Sources", "render"]

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
"""Source: Prometheus, "Exposition formats", text format."""

Labels = Mapping[str, str]
Sample = tuple[Labels, float | Spread]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the numbers come from."""

    engine: Engine
    shared: SharedMemory


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Attributes:
        name: in full.
        kind: "counter", "gauge" or "histogram".
        help: what it counts, one line.
        labels: what its samples differ by.
        samples: labels and value of each sample, now.
    """

    name: str
    kind: str
    help: str
    labels: tuple[str, ...]
    samples: Callable[[Sources], Iterator[Sample]]


def render(metrics: Iterable[Metric], sources: Sources) -> bytes:
    """The metrics as they are now."""
    lines: list[str] = []
    for metric in metrics:
        lines.append(f"# HELP {metric.name} {metric.help}")
        lines.append(f"# TYPE {metric.name} {metric.kind}")
        for labels, value in metric.samples(sources):
            if isinstance(value, Spread):
                lines += _histogram(metric.name, labels, value)
            else:
                lines.append(f"{metric.name}{_braces(labels)} {value!r}")
    return ("\n".join(lines) + "\n").encode()


def _histogram(name: str, labels: Labels, spread: Spread) -> Iterator[str]:
    total = 0
    for bound, count in zip((*_SECONDS, "+Inf"), spread.counts, strict=True):
        total += count
        yield f"{name}_bucket{_braces({**labels, 'le': bound})} {total}"
    yield f"{name}_sum{_braces(labels)} {spread.ns / 1e9!r}"
    yield f"{name}_count{_braces(labels)} {total}"


_SECONDS = tuple(f"{bound / 1e9:g}" for bound in BOUNDS)


def _braces(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

from __future__ import annotations

from typing import Any, cast

import pytest

from hotlap.bench import Comparison
from hotlap.plan import ModelRef
from hotlap.tune.candidates import cpu_default
from hotlap.tune.said import say

MODEL = ModelRef(path="m.onnx", digest="sha256:" + "0" * 64)
FALLBACK = cpu_default(MODEL, 2)
TRIED = cpu_default(MODEL, 1)
BARE = "onnxruntime.InferenceSession(path) with no options"
END = "The plan is ONNX Runtime's default with the thread count set explicitly: cpu, 2 threads, spin on."


class Found:
    """Stands in for a `Comparison`: what `say` reads of it."""

    class Tail:
        ratio, low, high, verdict = 0.8, 0.7, 0.9, "slower"

    tail = Tail()
    void = False
    doubts = ("void: other work disturbed 60 % of the processes",)

    class Side:
        def __init__(self, cpu_per_call: float, processes: int) -> None:
            self.cpu_per_call = cpu_per_call
            self.processes = (None,) * processes

    def __init__(
        self, verdict: str, ratio: float = 1.5, void: bool = False, cpu: float = 1.0, processes: int = 10
    ) -> None:
        self.a, self.b = self.Side(1.0, processes), self.Side(cpu, processes)
        self.verdict, self.void = verdict, void
        self.ratio, self.low, self.high = ratio, ratio - 0.1, ratio + 0.1


def said(found: Any, won: bool = False, refused: str | None = None) -> str:
    return say(FALLBACK, None if found is None else TRIED, cast(Comparison, found), won, refused)


def test_a_win_is_a_ratio_with_its_interval() -> None:
    assert said(Found("faster"), won=True).startswith(
        f"1.50 times as fast (95 % interval 1.40 to 1.60) as {BARE}: "
    )


@pytest.mark.parametrize(
    ("found", "start"),
    [
        (
            Found("no difference", 1.0),
            f"Nothing is faster than {BARE} beyond",
        ),
        (
            Found("slower", 0.8),
            f"Nothing is faster than {BARE}: the nearest",
        ),
        (Found("faster"), "The best, cpu, 1 thread, is 1.50 times as fast"),
        (
            Found("no difference", 2.67, processes=2),
            "Not enough data: with 2 processes a side the best, cpu, 1 thread, was 2.67",
        ),
        (Found("no difference", 2.67, processes=1), "Not enough data: with 1 process a side"),
        (
            Found("faster", void=True),
            "Void: other work disturbed 60 % of the processes. Nothing can be said against",
        ),
        (None, "No candidate could be chosen: none ran to the end"),
    ],
)
def test_where_nothing_won_the_default_stays_and_the_reason_is_said(found: Any, start: str) -> None:
    assert said(found).startswith(start)
    assert said(found).endswith(END)


def test_as_fast_on_less_cpu_is_worth_a_word() -> None:
    assert "on 0.46 of the CPU time a request" in said(Found("no difference", 1.0, cpu=0.46))
    assert "CPU time" not in said(Found("no difference", 1.0, cpu=0.9))


def test_a_refusal_of_all_is_the_reason() -> None:
    assert "the model differs from itself" in said(None, refused="the model differs from itself")


def test_a_void_comparison_shows_no_ratio() -> None:
    assert "1.5" not in said(Found("faster", void=True))

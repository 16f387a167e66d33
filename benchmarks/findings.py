"""What does a finding about numbers cost? One operator that has it against the same one without."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from onnx import TensorProto as T

import hotlap
from hotlap.bench.loop import quiet_collector
from hotlap.bench.stats import bootstrap_ratio
from tests import tiny

CLAIM = (
    "float64 takes at least twice the time of float32; 8-bit weights pay where they are signed, much less "
    "or not at all where they are unsigned, and a convolution that is quantised at run time does not pay. "
    "Whether denormal weights cost anything depends on the processor."
)
METHOD = (
    "Models of one operator (with what quantises and dequantises around it), 64 rows by 512 numbers or a "
    "picture of 32 channels, 56 by 56; one thread. The side with the finding and the side without take turns "
    "in random order within one process. The ratio of a round is that of its two turns; the median of all "
    "rounds, its 95 % interval by bootstrap."
)

Side = tuple[Any, np.ndarray[Any, Any]]
WIDE = 512
PICTURE = (1, 32, 56, 56)
CALLS = 5


def main(quick: bool) -> dict[str, Any]:
    rounds = 8 if quick else 200
    with tempfile.TemporaryDirectory() as folder:
        return {"cases": [_measured(Path(folder), rounds, *case) for case in _cases()]}


def _cases() -> Iterator[tuple[str, str, Side, Side]]:
    matmul, conv = _matmul(), _conv()
    yield "HL201", "matrix product in float64 : float32", _matmul(kind=np.float64), matmul
    yield "HL201", "exponential in float64 : float32", _exp(np.float64), _exp(np.float32)
    yield "HL202", "matrix product, all weights denormal : ordinary", _matmul(scale=1e-39), matmul
    yield "HL202", "matrix product, 1 % of weights denormal : ordinary", _matmul(few=0.01), matmul
    yield "HL202", "convolution, all weights denormal : ordinary", _conv(scale=1e-39), conv
    yield (
        "HL209",
        "matrix product, uint8 by uint8 : uint8 by int8",
        _qdq_matmul(np.uint8),
        _qdq_matmul(np.int8),
    )
    yield "HL209", "matrix product, uint8 by uint8 : float32", _qdq_matmul(np.uint8), matmul
    yield "", "matrix product, uint8 by int8 : float32", _qdq_matmul(np.int8), matmul
    yield "HL209", "convolution, uint8 by uint8 : float32", _qdq_conv(np.uint8), conv
    yield "", "convolution, uint8 by int8 : float32", _qdq_conv(np.int8), conv
    yield "HL211", "convolution quantised at run time, int8 weights : float32", _dynamic(np.int8), conv
    yield "HL211", "convolution quantised at run time, uint8 weights : float32", _dynamic(np.uint8), conv


def _measured(folder: Path, rounds: int, code: str, name: str, *sides: Side) -> dict[str, Any]:
    rng = random.Random(0)
    times: dict[int, list[float]] = {0: [], 1: []}
    with ExitStack() as stack, quiet_collector():
        runners = [
            stack.enter_context(hotlap.open(tiny.save(model, folder / f"{n}.onnx"), threads=1))
            for n, (model, _) in enumerate(sides)
        ]
        for runner, (_, x) in zip(runners, sides, strict=True):
            runner(x)
        for _ in range(rounds):
            for n in rng.sample([0, 1], 2):
                start = perf_counter()
                for _ in range(CALLS):
                    runners[n](sides[n][1])
                times[n].append((perf_counter() - start) / CALLS)
    logs = np.log(times[0]) - np.log(times[1])
    return {
        "code": code,
        "case": name,
        "ratio": [round(r, 3) for r in bootstrap_ratio(logs, np.zeros_like(logs))],
        "with_us": round(1e6 * float(np.median(times[0])), 1),
        "without_us": round(1e6 * float(np.median(times[1])), 1),
    }


# ── models ────────────────────────────────────────────────────────────────────────────────────────────


def _numbers(*shape: int, kind: Any = np.float32, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def _matmul(kind: Any = np.float32, scale: float = 1.0, few: float = 0.0) -> Side:
    weights = _numbers(WIDE, WIDE, kind=kind) * kind(scale)
    if few:
        weights[np.random.default_rng(1).random(weights.shape) < few] *= kind(1e-39)
    return _one("MatMul", {"w": weights}, _numbers(64, WIDE, kind=kind, seed=2))


def _exp(kind: Any) -> Side:
    return _one("Exp", {}, _numbers(64, 16 * WIDE, kind=kind))


def _conv(scale: float = 1.0) -> Side:
    return _one("Conv", {"w": _numbers(32, 32, 3, 3) * np.float32(scale)}, _numbers(*PICTURE), pads=[1] * 4)


def _one(op: str, weights: dict[str, Any], x: np.ndarray[Any, Any], **attributes: Any) -> Side:
    kind = T.DOUBLE if x.dtype == np.float64 else T.FLOAT
    ends = [tiny.info("x", kind, list(x.shape))], [tiny.info("y", kind, None)]
    return tiny.model([tiny.node(op, ["x", *weights], ["y"], **attributes)], *ends, weights), x


def _eight(weights: np.ndarray[Any, Any], kind: Any) -> dict[str, Any]:
    """The weights in 8 bits, with their scale and zero point."""
    scale = np.float32(np.abs(weights).max() / 127)
    zero = 0 if kind == np.int8 else 128
    return {"w": (np.round(weights / scale) + zero).astype(kind), "ws": scale, "wz": kind(zero)}


def _qdq(
    op: str, weights: np.ndarray[Any, Any], kind: Any, x: np.ndarray[Any, Any], **attributes: Any
) -> Side:
    reach = float(np.sqrt(weights[0].size if op == "Conv" else weights.shape[0])) * 5
    held = {
        **_eight(weights, kind),
        "xs": np.float32(8 / 255),
        "z": np.uint8(128),
        "ys": np.float32(2 * reach / 255),
    }
    nodes = [
        tiny.node("QuantizeLinear", ["x", "xs", "z"], ["q"]),
        tiny.node("DequantizeLinear", ["q", "xs", "z"], ["d"]),
        tiny.node("DequantizeLinear", ["w", "ws", "wz"], ["v"]),
        tiny.node(op, ["d", "v"], ["c"], **attributes),
        tiny.node("QuantizeLinear", ["c", "ys", "z"], ["e"]),
        tiny.node("DequantizeLinear", ["e", "ys", "z"], ["y"]),
    ]
    ends = [tiny.info("x", T.FLOAT, list(x.shape))], [tiny.info("y", T.FLOAT, None)]
    return tiny.model(nodes, *ends, held), x


def _qdq_matmul(kind: Any) -> Side:
    return _qdq("MatMul", _numbers(WIDE, WIDE), kind, _numbers(64, WIDE, seed=2))


def _qdq_conv(kind: Any) -> Side:
    return _qdq("Conv", _numbers(32, 32, 3, 3), kind, _numbers(*PICTURE), pads=[1] * 4)


def _dynamic(kind: Any) -> Side:
    held = _eight(_numbers(32, 32, 3, 3), kind)
    nodes = [
        tiny.node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        tiny.node("ConvInteger", ["q", "w", "z", "wz"], ["i"], pads=[1] * 4),
        tiny.node("Cast", ["i"], ["f"], to=T.FLOAT),
        tiny.node("Mul", ["s", "ws"], ["both"]),
        tiny.node("Mul", ["f", "both"], ["y"]),
    ]
    x = _numbers(*PICTURE)
    ends = [tiny.info("x", T.FLOAT, list(PICTURE))], [tiny.info("y", T.FLOAT, None)]
    return tiny.model(nodes, *ends, held), x


def table(data: dict[str, Any]) -> str:
    lines = ["| finding | case | with | without | ratio of times |", "|---|---|---|---|---|"]
    for case in data["cases"]:
        ratio, low, high = case["ratio"]
        told = f"{ratio:.2f} ({low:.2f} to {high:.2f})"
        us = f"{case['with_us']:,.0f} µs | {case['without_us']:,.0f} µs"
        lines.append(f"| {case['code']} | {case['case']} | {us} | {told} |")
    return "\n".join(lines)

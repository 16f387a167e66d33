"""What does tuning gain? Twelve real models on real inputs, each tuned once."""

from __future__ import annotations

from typing import Any

from benchmarks.picture import Bar, chart
from examples.inputs.models import TWELVE, RealModel
from hotlap.tune import Budget, Tuning, tune

CLAIM = (
    "A plan is faster than the default beyond the noise, or it is the default; "
    "the answers agree in either case."
)
METHOD = (
    "`hotlap tune --time 45s` on 64 real inputs a model. Baseline: `onnxruntime.InferenceSession(path)` with "
    "no options. Ratio: the default's p50 divided by that of the best candidate, in the comparison after the "
    "search: fresh processes in turn, median across processes, 95 % interval by bootstrap."
)
SECONDS, ROWS = 45.0, 64


def main(quick: bool) -> dict[str, Any]:
    models = TWELVE[1:2] if quick else TWELVE
    return {"models": [row_of(model, tuned(model, 12.0 if quick else SECONDS)) for model in models]}


def tuned(model: RealModel, seconds: float) -> Tuning:
    """One tuning; again, twice at most, where other work made it void."""
    feeds = model.feeds(ROWS)
    for _ in range(3):
        tuning = tune(model.path.resolve(), data=feeds, scores=model.scores, budget=Budget(seconds=seconds))
        print(f"{model.name}: {tuning.said} [{tuning.seconds:.1f} s]", flush=True)
        if tuning.comparison is None or not tuning.comparison.void:
            break
    return tuning


def row_of(model: RealModel, tuning: Tuning) -> dict[str, Any]:
    """What is kept of a tuning: the headline, and what became of each candidate."""
    found = tuning.comparison
    row: dict[str, Any] = {
        "model": model.name,
        "job": model.job,
        "plan": tuning.chosen,
        "won": tuning.won,
        "said": tuning.said,
        "answers": tuning.verdict.reason if tuning.verdict else "",
        "level": tuning.verdict.level if tuning.verdict else "",
        "seconds": round(tuning.seconds, 1),
        "candidates": {
            t.label: [t.status, None if t.speedup is None else round(t.speedup, 3)] for t in tuning.trials
        },
    }
    if found is not None:
        row |= {
            "tried": found.b.target.label,
            "ratio": round(found.ratio, 4),
            "low": round(found.low, 4),
            "high": round(found.high, 4),
            "p95": [round(found.tail.ratio, 4), round(found.tail.low, 4), round(found.tail.high, 4)],
            "verdict": "void" if found.void else found.verdict,
            "cpu": round(found.b.cpu_per_call / found.a.cpu_per_call, 3),
            "foreign": None if found.foreign is None else round(found.foreign, 4),
            "processes": len(found.a.processes),
        }
    return row


def table(data: dict[str, Any]) -> str:
    lines = [
        "| model | what it does | best candidate | p50 | p95 | CPU a request | verdict | answers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in data["models"]:
        if "ratio" not in row:
            lines.append(f"| {row['model']} | {row['job']} | | | | | {row['said']} | |")
            continue
        p50 = _with_interval(row["ratio"], row["low"], row["high"])
        cells = (row["model"], row["job"], row["tried"], p50, _with_interval(*row["p95"]))
        lines.append(f"| {' | '.join(cells)} | {row['cpu']:.2f} | {row['verdict']} | {row['level']} |")
    return "\n".join(lines)


def _with_interval(ratio: float, low: float, high: float) -> str:
    return f"{ratio:.2f}x ({low:.2f} to {high:.2f})"


def picture(data: dict[str, Any]) -> str:
    """The table as a chart."""
    bars = [
        Bar(f"{row['model']}: {row['tried']}", row["ratio"], row["low"], row["high"], row["verdict"])
        for row in data["models"]
        if "ratio" in row
    ]
    return chart("The best plan against default ONNX Runtime, p50 (1 = equal, right = faster)", bars)

"""Does the comparison lie? A model against itself, and against itself with a planted slowdown."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from examples.inputs.models import named
from hotlap.bench import Comparison, Target, Workload, compare, save_feeds

CLAIM = (
    "Of 20 comparisons of a model with itself at most 2 claim a difference, "
    "and a planted slowdown of 10 % is found."
)
METHOD = (
    "Two real models on real inputs: a picture classifier and a sentence encoder. Each comparison is one "
    "`hotlap.compare` with its defaults: 12 fresh processes a side of 0.8 s. The slowdown is planted by a "
    "caller that busy-waits a tenth of each call's own time after it, inside the timed span."
)
MODELS = ("ocr-cls", "minilm")
ITSELF, PLANTED = 10, 5  # comparisons a model
SLOWDOWN = 0.10


def main(quick: bool) -> dict[str, Any]:
    workload = Workload(seconds=0.1, warmup=0.05, processes=2) if quick else Workload()
    itself, planted = (1, 1) if quick else (ITSELF, PLANTED)
    rows = []
    for name in MODELS[:1] if quick else MODELS:
        model = named(name)
        with tempfile.TemporaryDirectory() as folder:
            feeds = save_feeds(Path(folder), model.feeds(16))
            plain = Target.default(model.path.resolve(), label=name)
            slow = Target.default(model.path.resolve(), label=f"{name}, slowed", handicap=SLOWDOWN)
            rows.append(
                {
                    "model": name,
                    "itself": [_one(plain, plain, workload, feeds) for _ in range(itself)],
                    "planted": [_one(plain, slow, workload, feeds) for _ in range(planted)],
                }
            )
    return {"slowdown": SLOWDOWN, "models": rows}


def _one(baseline: Target, candidate: Target, workload: Workload, feeds: Path) -> dict[str, Any]:
    found: Comparison = compare(baseline, candidate, workload, feeds)
    verdict = "void" if found.void else found.verdict
    print(f"{candidate.label}: {found.ratio:.3f} ({found.low:.3f} to {found.high:.3f}) {verdict}", flush=True)
    return {
        "ratio": round(found.ratio, 4),
        "low": round(found.low, 4),
        "high": round(found.high, 4),
        "verdict": found.verdict,
        "void": found.void,
        "foreign": None if found.foreign is None else round(found.foreign, 4),
        "p50_ms": round(found.a.p50 * 1e3, 4),
    }


def table(data: dict[str, Any]) -> str:
    lines = [
        "| model | p50 | against itself: false claims | ratios | widest interval "
        f"| {100 * data['slowdown']:.0f} % slower: found | ratios | void |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in data["models"]:
        itself, planted = row["itself"], row["planted"]
        false = sum(c["verdict"] != "no difference" for c in itself)
        found = sum(c["verdict"] == "slower" for c in planted)
        widest = max(c["high"] / c["low"] - 1 for c in itself)
        void = sum(c["void"] for c in [*itself, *planted])
        lines.append(
            f"| {row['model']} | {itself[0]['p50_ms']:.3g} ms | {false} of {len(itself)} | {_span(itself)} "
            f"| {100 * widest:.1f} % | {found} of {len(planted)} | {_span(planted)} | {void} |"
        )
    return "\n".join(lines)


def _span(comparisons: list[dict[str, Any]]) -> str:
    ratios = [c["ratio"] for c in comparisons]
    return f"{min(ratios):.3f} to {max(ratios):.3f}"

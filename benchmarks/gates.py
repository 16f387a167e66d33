"""Does the gate see what it should? Honest variants and planted errors on twelve real models."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.planted import (
    all_off_by_a_thousandth,
    one_off_by_a_thousandth,
    planned,
    planted,
    rounded_to_bfloat16,
    weights,
)
from examples.inputs.models import TWELVE, RealModel
from hotlap.bench import Target
from hotlap.errors import TargetFailed
from hotlap.runtime import provider_status
from hotlap.verify import Reference, Verdict

CLAIM = (
    "`exact` accepts other threads and other optimisation levels on every one of twelve real models, and "
    "refuses weights rounded to bfloat16 on every one whose own noise is below 2 % of an output's range."
)
METHOD = (
    "64 real inputs a model. The noise is the most that an output moves when its inputs (or, for models of "
    "integers, its weights) move by one unit in the last place, or when the graph is not optimised. Every "
    "other number says how many times that noise a variant differs, at the worst value or in the root mean "
    "square, whichever is more; above 5 `exact` refuses it. Planted: the largest weight of the middle tensor "
    "off by a thousandth; that whole tensor off by a thousandth; every weight rounded to bfloat16."
)
PLANTED = {
    "one weight": one_off_by_a_thousandth,
    "one tensor": all_off_by_a_thousandth,
    "bfloat16": rounded_to_bfloat16,
}


def main(quick: bool) -> dict[str, Any]:
    models = [m for m in TWELVE if m.name in ("ocr-cls", "magika")] if quick else TWELVE
    return {"models": [_one(model, 8 if quick else 64) for model in models]}


def _one(model: RealModel, count: int) -> dict[str, Any]:
    path = model.path.resolve()
    with (
        tempfile.TemporaryDirectory() as folder,
        Reference(Target.default(path), model.feeds(count), scores=model.scores) as reference,
    ):
        rows = {name: _judged(reference, target) for name, target in _honest(path).items()}
        for name, change in PLANTED.items():
            only = None if name == "bfloat16" else _middle(path)
            wrong = planted(path, Path(folder) / "wrong.onnx", change, only)
            rows[name] = _judged(reference, planned(wrong, label=name))
        close = reference.judge(planned(wrong, label="bfloat16"), "close")
        noise = reference.noise.values()
        print(f"{model.name}: { ({k: v['times'] for k, v in rows.items()}) }", flush=True)
        return {
            "model": model.name,
            "noise": max(n.max_rel for n in noise),
            "noise_rms": max(n.rms for n in noise),
            "variants": rows,
            "bfloat16_close": {"passed": close.passed, "reason": close.reason},
        }


def _honest(path: Path) -> dict[str, Target]:
    found = {
        "1 thread": planned(path, label="1 thread", threads=1),
        "less optimised": planned(
            path, label="less optimised", session={"graph_optimization_level": "ORT_ENABLE_BASIC"}
        ),
    }
    if provider_status("openvino").loads:
        found["OpenVINO f32"] = planned(path, label="OpenVINO f32", providers=("openvino",))
    return found


def _middle(path: Path) -> int:
    places = weights(path)
    return places[len(places) // 2]


def _judged(reference: Reference, target: Target) -> dict[str, Any]:
    try:
        verdict = reference.judge(target, "exact")
    except TargetFailed as error:  # a provider may refuse a model
        return {"passed": False, "times": None, "failed": str(error)}
    return {"passed": verdict.passed, "times": round(times(verdict), 3)}


def times(verdict: Verdict) -> float:
    """How many times the noise the outputs differ, at the most; 0 where none differs."""
    found = [0.0]
    for diff in verdict.outputs:
        if diff.noise is not None:
            pairs = ((diff.max_rel, diff.noise.max_rel), (diff.rms, diff.noise.rms))
            found += [have / noise for have, noise in pairs if noise > 0]
    return max(found)


def table(data: dict[str, Any]) -> str:
    names = list(dict.fromkeys(name for row in data["models"] for name in row["variants"]))
    head = ["model", "noise: worst", "rms", *names, "bfloat16 is `close`"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in data["models"]:
        cells = [_cell(row["variants"].get(name)) for name in names]
        close = "yes" if row["bfloat16_close"]["passed"] else "no"
        first = [row["model"], f"{row['noise']:.1g}", f"{row['noise_rms']:.1g}"]
        lines.append(f"| {' | '.join([*first, *cells, close])} |")
    return "\n".join(lines) + "\n"


def _cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    if found["times"] is None:
        return "does not run"
    shown = f"{found['times']:,.0f}" if found["times"] >= 10 else f"{found['times']:.1f}"
    return shown if found["passed"] else f"**{shown}**"

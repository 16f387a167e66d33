"""What does each pass do to real models? Twelve of them on real inputs: answers, speed, size."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trials import Trial, Trials
from examples.inputs.models import TWELVE, Feed, RealModel
from hotlap.bench import Workload
from hotlap.errors import HotlapError, UsageError
from hotlap.passes import PASSES, Optimised, Pass, named_pass, optimize
from hotlap.passes.bind_axes import BindAxes
from hotlap.passes.draft import Draft
from hotlap.passes.graphs import symbol_of

CLAIM = (
    "Nothing that `hotlap optimize` keeps answers otherwise than its source, and no pass for speed is kept "
    "where it is slower beyond the noise; what differs or is slower is told, and not written."
)
METHOD = (
    "Each pass that changes the model, alone, and the default row of passes (`weights-out-of-inputs`, `cut`, "
    "`fold`, `flush-denormals`), as `hotlap optimize` runs them: on 64 real inputs a model, judged at "
    "`exact`, and where that says no at `close`. Ratio: p50 of the source divided by that of the result, "
    "each opened as ONNX Runtime opens it with no options, so with its own fusions at each start; at least 6 "
    "fresh processes a side. `bind-axes` binds every free axis to its size in the inputs, where they have "
    "one, and folds what follows. Half precision is judged by an emulation of a device that has it; on a CPU "
    "it proves nothing of speed."
)
FULL, QUICK = Workload(seconds=0.3, warmup=0.1, processes=6), Workload(seconds=0.1, warmup=0.02, processes=2)
ROWS, FEW = 64, 8
KEPT = Path(__file__).resolve().parent / "results" / "optimise.trials.jsonl"
RESULT = KEPT.with_name("optimise.json")
DEFAULT = "the default"
ALONE: tuple[str, ...] = (
    "weights-out-of-inputs", "mend-batch", "cut", "remove-zipmap", "fold", "shrink", "gelu", "fuse",
    "fuse:extended", "transformer", "flush-denormals", "half", "convert-opset:21", "lower-ir",
    "external-weights",
)  # fmt: skip


def main(quick: bool, parts: Sequence[str] = ()) -> dict[str, Any]:
    """Measures the models that are named, all if none is; the others stay as they were."""
    names = [m.name for m in TWELVE]
    if unknown := set(parts) - set(names):
        raise SystemExit(f"no model {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    wanted = parts or (["ocr-cls"] if quick else names)
    trials = Trials(None if quick else KEPT)
    for model in TWELVE:
        if model.name in wanted:
            for key, passes in _rows(model, quick):
                trial = trials.once(model.name, key, lambda p=passes, m=model: _measured(m, p, quick))
                print(f"{model.name}: {key}: {trial}", flush=True)
    before = json.loads(RESULT.read_text("utf-8"))["data"]["trials"] if parts and RESULT.exists() else []
    kept = [t for t in before if t["part"] not in wanted]
    found = sorted([*kept, *trials.done], key=lambda t: names.index(t["part"]))
    trials.forget()
    return {"trials": found}


def _rows(model: RealModel, quick: bool) -> Iterator[tuple[str, list[Pass] | None]]:
    """Name of a row of passes to the passes; None: the default."""
    yield DEFAULT, None
    for spelt in ("fold", "fuse:extended") if quick else ALONE:
        yield spelt, [named_pass(spelt)]
    sizes = _sizes(model)
    if sizes and not quick:
        yield "bind-axes, fold", [BindAxes(sizes), named_pass("fold")]


def _sizes(model: RealModel) -> dict[str, int]:
    """Free axes to their size, where all inputs agree on each."""
    sizes: dict[str, set[int]] = {}
    feeds = model.feeds(FEW)
    for value in Draft.load(model.path).proto.graph.input:
        for place, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_value < 1 and value.name in feeds[0]:
                found = sizes.setdefault(symbol_of(dim) or f"{value.name}[{place}]", set())
                found.update(np.shape(feed[value.name])[place] for feed in feeds)
    agreed = all(len(found) == 1 for found in sizes.values())
    return {axis: found.pop() for axis, found in sizes.items()} if agreed else {}


def _measured(model: RealModel, passes: list[Pass] | None, quick: bool) -> Trial:
    """What became of one row of passes: at `exact`, and if that says no, at `close`."""
    feeds = model.feeds(FEW if quick else ROWS)
    half = passes is not None and passes[0].name == "half"
    try:
        found = _optimised(model, passes, feeds, "close" if half else "exact", quick)
        refused = found.verdict is not None and not found.verdict.passed
        if refused and not half:
            close = _optimised(model, passes, feeds, "close", quick)
            found = close if close.verdict is not None and close.verdict.passed else found
    except UsageError as error:
        return {"status": "does not apply", "why": _placeless(str(error))}
    except HotlapError as error:
        return {"status": "refused", "why": _placeless(str(error))}
    return _told(found)


def _optimised(
    model: RealModel, passes: list[Pass] | None, feeds: list[Feed], level: str, quick: bool
) -> Optimised:
    with tempfile.TemporaryDirectory() as folder:
        return optimize(
            model.path.resolve(), passes, Path(folder) / "out.onnx",
            data=feeds, level=level, scores=model.scores, workload=QUICK if quick else FULL,
        )  # fmt: skip


def _placeless(text: str) -> str:
    """The text without the folders of files: they were temporary."""
    return re.sub(r"/(?:[^\s/:]+/)+", "", text)


def _told(found: Optimised) -> Trial:
    row: Trial = {
        "status": "kept" if found.written else "not kept" if found.changed else "unchanged",
        "why": _placeless(found.reason),
        "changed": [step.name for step in found.steps if step.changed],
        "nodes": [found.nodes, found.steps[-1].nodes],
        "bytes": [found.size_before, found.size],
    }
    if found.verdict is not None:
        said = _placeless(found.verdict.reason)
        row |= {"level": found.verdict.level, "passed": found.verdict.passed, "said": said}
    one = found.comparison
    if one is not None:
        verdict = "void" if one.void else one.verdict
        row |= {"ratio": round(one.ratio, 4), "low": round(one.low, 4), "high": round(one.high, 4)}
        row |= {"verdict": verdict, "foreign": None if one.foreign is None else round(one.foreign, 4)}
    return row


def table(data: dict[str, Any]) -> str:
    lines = ["| model | passes | nodes | MB | answers | speed here | kept |", "|---|---|---|---|---|---|---|"]
    models = list(dict.fromkeys(t["part"] for t in data["trials"]))
    for name in models:
        trials = [t for t in data["trials"] if t["part"] == name]
        shown = [t for t in trials if t["status"] in ("kept", "not kept")]
        lines += [_line(name, t) for t in shown]
        lines += [_line_of_refusal(name, t) for t in trials if t["status"] == "refused"]
        idle = [f"`{t['key']}`" for t in trials if t["status"] == "unchanged" and t["key"] != DEFAULT]
        if idle:
            lines.append(f"| {name} | nothing to do for {', '.join(idle)} | | | | | |")
    return "\n".join(lines)


def _line(name: str, trial: Trial) -> str:
    before, after = trial["bytes"]
    spelt = f"`{trial['key']}`"
    if trial["key"] == DEFAULT:
        spelt = f"{DEFAULT} ({', '.join(trial['changed'])})"
    cells = (
        name,
        spelt,
        "{} → {}".format(*trial["nodes"]),
        f"{before / 1e6:.2f} → {after / 1e6:.2f}",
        trial["level"] if trial["passed"] else "differ",
        _speed(trial),
        _kept(trial),
    )
    return f"| {' | '.join(cells)} |"


def _line_of_refusal(name: str, trial: Trial) -> str:
    return f"| {name} | `{trial['key']}` | | | | | no: {trial['why'].replace('|', '/')} |"


def _speed(trial: Trial) -> str:
    if "ratio" not in trial:
        return ""
    return f"{trial['ratio']:.2f}x ({trial['low']:.2f} to {trial['high']:.2f}), {trial['verdict']}"


def _kept(trial: Trial) -> str:
    if trial["status"] == "kept":
        slower = trial.get("verdict") == "slower"
        return "slower here: written since it was named, for another device" if slower else "yes"
    return f"no: {trial['why'].partition(':')[0]}"


def broken(data: dict[str, Any]) -> list[str]:
    """Trials against the claim: kept though the answers differ or, of a pass for speed, though slower."""
    found = []
    for trial in data["trials"]:
        if trial["status"] == "kept":
            for_speed = all(PASSES[name].aim == "speed" for name in trial["changed"])
            if not trial["passed"] or (for_speed and trial.get("verdict") == "slower"):
                found.append(f"{trial['part']}: {trial['key']}")
    return found

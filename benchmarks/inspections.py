"""What does `inspect` say of twelve real models, and how long does it take to say it?"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import onnx.backend.test

import hotlap
from examples.inputs.inspections import ROWS, inspection
from examples.inputs.models import TWELVE, RealModel, named
from hotlap import Model
from hotlap.inspect import SEVERITIES, Inspection, inspect
from hotlap.plan import Facts
from hotlap.runtime.probe import probe
from hotlap.tensors import TensorSpec
from tests.inspect.confirmed import CONFIRMED

CLAIM = (
    "On each of twelve real models `inspect` takes under 10 s beyond what the model itself runs, and, of the "
    "file alone, on each of the 149 models of onnx's own backend tests; it crashes on none, and finds no "
    "error in those that onnx calls right."
)
METHOD = (
    f"The twelve are inspected one after the other, each on {ROWS} of its real inputs, by a process of its "
    "own as always. What the model itself runs is the sum of the calls that probing makes, taken from one "
    "more probing of the same model on the same input; loading it, three times, counts as inspecting. "
    "Probing ends after 8 s, so slow models get fewer tries. The models of the backend tests are inspected "
    "without a run."
)
LIMIT = 10.0
BACKEND = Path(onnx.backend.test.__file__).parent / "data"
BACKEND_KINDS = ("light", "pytorch-converted", "pytorch-operator", "real", "simple")
"""Of the folders of onnx's backend tests all but "node", whose models are one operator each."""
SHOWN = named("ddddocr")
TEST = "../../tests/inspect/test_confirmed.py"


def main(quick: bool) -> dict[str, Any]:
    models = TWELVE[1:2] if quick else TWELVE
    files = sorted(f for kind in BACKEND_KINDS for f in (BACKEND / kind).rglob("*.onnx"))
    return {
        "models": [_inspected(model) for model in models],
        "files": _read(files[:5] if quick else files),
        "shown": _shown(SHOWN),
    }


# ── measuring ─────────────────────────────────────────────────────────────────────────────────────────


def _inspected(model: RealModel) -> dict[str, Any]:
    begun = perf_counter()
    found = inspection(model)
    seconds = perf_counter() - begun
    own = _own_seconds(model)
    print(f"{model.name}: {seconds:.1f} s, of which {own:.1f} s of its own", flush=True)
    return {
        "model": model.name,
        "job": model.job,
        "file": model.file,
        "inputs": _signature(found.anatomy.inputs),
        "outputs": _signature(found.anatomy.outputs),
        "rows": _rows(found.facts),
        "padding": dict(found.facts.padding) if found.facts else {},
        "unknown": list(found.unknown),
        "findings": _findings(found),
        "beyond_s": round(max(seconds - own, 0.0), 2),
        "own_s": round(own, 2),
    }


class _Timed:
    """A runner that sums up how long its calls take."""

    def __init__(self, runner: hotlap.Runner) -> None:
        self.inputs, self.outputs, self._run = runner.inputs, runner.outputs, runner.run
        self.seconds = 0.0

    @property
    def run(self) -> Callable[..., Mapping[str, Any]]:
        return self._timed

    def _timed(self, *args: Any, **kwargs: Any) -> Mapping[str, Any]:
        begun = perf_counter()
        try:
            return self._run(*args, **kwargs)
        finally:
            self.seconds += perf_counter() - begun


def _own_seconds(model: RealModel) -> float:
    file = Model.load(model.path)
    with hotlap.open(model.path) as runner:
        timed = _Timed(runner)
        probe(timed, feed=model.feeds(ROWS)[0], limits=file.id_limits(), declared=list(file.outputs))
    return timed.seconds


def _signature(specs: Iterable[TensorSpec]) -> list[str]:
    return [f"{s.name} {s.label}" for s in specs]


def _rows(facts: Facts | None) -> dict[str, Any]:
    return {} if facts is None else {"are": facts.rows, "why": facts.why, "axes": dict(facts.axes)}


def _findings(found: Inspection) -> list[dict[str, str]]:
    return [{"code": f.code, "severity": f.severity, "message": f.message} for f in found.findings]


def _read(files: list[Path]) -> dict[str, Any]:
    """Each of onnx's models inspected without a run."""
    took: dict[str, float] = {}
    crashed: list[str] = []
    errors: list[str] = []
    for file in files:
        name = file.relative_to(BACKEND).as_posix()
        begun = perf_counter()
        try:
            found = inspect(file, probe=False)
        except Exception as error:  # noqa: BLE001  whatever it is, it is to be told
            crashed.append(f"{name}: {type(error).__name__}: {error}")
            continue
        took[name] = perf_counter() - begun
        errors += [f"{name}: {f.code} {f.message}" for f in found.findings if f.severity == "error"]
        errors += [f"{name}: {line}" for line in found.unknown]
    slowest = max(took, key=lambda name: took[name])
    return {
        "count": len(files),
        "slowest": slowest,
        "seconds": round(took[slowest], 3),
        "crashed": crashed,
        "errors": errors,
    }


def _shown(model: RealModel) -> list[str]:
    """What the command prints about a model, line by line."""
    done = subprocess.run(
        [sys.executable, "-m", "hotlap", "inspect", "--fail-on", "never", model.path.name],
        cwd=model.path.parent,  # where its name alone is a path
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


# ── telling ───────────────────────────────────────────────────────────────────────────────────────────


def table(data: dict[str, Any]) -> str:
    """How much was found, and what it took."""
    lines = [
        "| model | errors | warnings | info | beyond its own run time | its own | limit | kept |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in data["models"]:
        severities = [f["severity"] for f in row["findings"]]
        counts = " | ".join(str(severities.count(s)) for s in reversed(SEVERITIES))
        kept = row["beyond_s"] < LIMIT and not row["unknown"]
        took = f"{row['beyond_s']:.1f} s | {row['own_s']:.1f} s"
        lines.append(f"| {row['model']} | {counts} | {took} | {LIMIT:g} s | {_kept(kept)} |")
    files = data["files"]
    kept = files["seconds"] < LIMIT and not files["crashed"] and not files["errors"]
    lines.append(
        f"| {files['count']} models of onnx's tests, not run; {len(files['crashed'])} crashes | "
        f"{len(files['errors'])} | | | at most {files['seconds']:.1f} s | | {LIMIT:g} s | {_kept(kept)} |"
    )
    return "\n".join(lines)


def _kept(kept: bool) -> str:
    return "yes" if kept else "**no**"


def models(data: dict[str, Any]) -> str:
    """Each model with what was found."""
    return "\n\n".join(_section(row) for row in data["models"])


def shown(data: dict[str, Any]) -> str:
    """What the command prints, shortened to the beginning, two findings and the end."""
    blocks = [block.splitlines() for block in "\n".join(data["shown"]).split("\n\n")]
    head = [line for line in blocks[0] if line.startswith(HEAD)]
    parts = [head, *blocks[1:3], *([["…"]] if len(blocks) > 4 else []), blocks[-1]]
    text = "\n\n".join("\n".join(part) for part in parts)
    return f"```text\n$ hotlap inspect {Path(SHOWN.file).name}\n{text}\n```"


HEAD = ("model", "inputs", "outputs", "run")
VIEWS = {"models": models, "shown": shown}
"""More to be rendered than the table: ``<!-- bench: inspections.models -->``."""


def _section(row: dict[str, Any]) -> str:
    parts = [
        f"## {row['model']}\n{_sentence(row['job'])} `{row['file']}`: "
        f"{_ticked(row['inputs'])} → {_ticked(row['outputs'])}.",
        f"{_told_rows(row['rows'])} {_told_padding(row['padding'])}".strip(),
        _told_findings(row["findings"]),
        f"*Confirmed* [without hotlap]({TEST}): {CONFIRMED[row['model']].said}.",
        f"It took {row['beyond_s']:.1f} s beyond the {row['own_s']:.1f} s that the model itself ran.",
    ]
    return "\n\n".join(parts)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith("?") else ".")


def _ticked(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _told_rows(rows: dict[str, Any]) -> str:
    if not rows:
        return "Rows: not learned."
    along: dict[int, list[str]] = {}
    for name, axis in rows["axes"].items():
        along.setdefault(axis, []).append(name)
    axes = "; ".join(f"axis {axis} of {_ticked(names)}" for axis, names in along.items())
    return f"Rows: {rows['are']}, {rows['why']}." + (f" They lie along {axes}." if axes else "")


def _told_padding(padding: dict[str, str]) -> str:
    words = {
        "sensitive": "changes the answers",
        "insensitive": "changes nothing",
        "unknown": "was not judged",
    }
    return " ".join(f"Padding along `{axis}` {words[kind]}." for axis, kind in padding.items())


def _told_findings(findings: list[dict[str, str]]) -> str:
    if not findings:
        return "Nothing found."
    lines = ["| severity | code | finding |", "|---|---|---|"]
    for one in findings:
        link = f"[{one['code']}](../reference/findings/{one['code']}.md)"
        message = one["message"].replace("|", r"\|")
        lines.append(f"| {one['severity']} | {link} | {message} |")
    return "\n".join(lines)

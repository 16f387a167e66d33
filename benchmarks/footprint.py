"""What hotlap adds: to an import, to the first help text, to opening a model, to the disk."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import fresh
from examples.inputs.models import named
from hotlap.plan import ModelRef, Plan
from hotlap.runtime import file_digest

CLAIM = (
    "`import hotlap` takes at most 100 ms beyond numpy's own import, `hotlap --help` under 300 ms, "
    "`hotlap.open` of a plan at most 1.1 times `InferenceSession` plus 20 ms, and the library without extras "
    "is under 1 MB."
)
METHOD = (
    "Every number is a median over fresh processes that run in turn (A B B A). Opening is timed inside the "
    "process, after onnxruntime was imported; it includes hashing the model against its digest, and warming, "
    "which runs it once. The size is that of the wheel, and of its files once unpacked."
)
MODELS = ("ocr-cls", "magika", "minilm")
ROOT = Path(__file__).resolve().parents[1]

IMPORT = """
    from time import perf_counter
    import numpy
    start = perf_counter()
    import hotlap
    {more}
    print(perf_counter() - start)
"""
SESSION = """
    from time import perf_counter
    import onnxruntime
    start = perf_counter()
    session = onnxruntime.InferenceSession({model!r})
    print(perf_counter() - start)
"""
OPEN = """
    from time import perf_counter
    import onnxruntime, hotlap
    hotlap.open
    start = perf_counter()
    runner = hotlap.open({plan!r}, warm={warm})
    print(perf_counter() - start)
"""


def main(quick: bool) -> dict[str, Any]:
    rounds = 2 if quick else 20
    return {
        **_imports(rounds),
        "help_s": _help(rounds),
        "open": [_open(name, rounds) for name in (MODELS[:1] if quick else MODELS)],
        **_size(),
    }


def _imports(rounds: int) -> dict[str, float]:
    scripts = {
        "import_s": textwrap.dedent(IMPORT).format(more=""),
        "import_runner_s": textwrap.dedent(IMPORT).format(more="hotlap.open"),
    }
    return {name: float(np.median(t)) for name, t in fresh.seconds_told(scripts, rounds).items()}


def _help(rounds: int) -> float:
    command = (sys.executable, "-m", "hotlap", "--help")
    return float(np.median(fresh.seconds_taken({"help": command}, rounds)["help"]))


def _open(name: str, rounds: int) -> dict[str, Any]:
    model = named(name).path.resolve()
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.toml"
        Plan(model=ModelRef(path=str(model), digest=file_digest(model))).save(plan)
        scripts = {
            "session": textwrap.dedent(SESSION).format(model=str(model)),
            "open": textwrap.dedent(OPEN).format(plan=str(plan), warm=True),
            "cold": textwrap.dedent(OPEN).format(plan=str(plan), warm=False),
        }
        found = fresh.seconds_told(scripts, rounds)
    session, opened, cold = (float(np.median(found[k])) for k in ("session", "open", "cold"))
    return {
        "model": name,
        "session_s": session,
        "open_s": opened,
        "open_not_warmed_s": cold,
        "limit_s": 1.1 * session + 0.020,
        "ratio": list(fresh.ratio(found["open"], found["session"])),
    }


def _size() -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--wheel-dir",
            folder,
            str(ROOT),
        ]
        subprocess.run([*command, "--disable-pip-version-check"], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        return {"wheel_bytes": wheel.stat().st_size, "unpacked_bytes": unpacked}


def table(data: dict[str, Any]) -> str:
    rows = [
        ("`import hotlap` beyond numpy", _ms(data["import_s"]), "100 ms", data["import_s"] <= 0.1),
        ("the same with what opens a model", _ms(data["import_runner_s"]), "", None),
        ("`hotlap --help`", _ms(data["help_s"]), "300 ms", data["help_s"] < 0.3),
    ]
    for one in data["open"]:
        value, low, high = one["ratio"]
        told = (
            f"{_ms(one['open_s'])} against {_ms(one['session_s'])} ({value:.2f}x, {low:.2f} to {high:.2f}); "
            f"not warmed {_ms(one['open_not_warmed_s'])}"
        )
        within = one["open_s"] <= one["limit_s"]
        rows.append((f"`hotlap.open`, {one['model']}", told, _ms(one["limit_s"]), within))
    size = f"{data['wheel_bytes'] / 1e6:.2f} MB, unpacked {data['unpacked_bytes'] / 1e6:.2f} MB"
    rows.append(("the wheel", size, "1 MB", max(data["wheel_bytes"], data["unpacked_bytes"]) < 1e6))
    lines = ["| what | measured | limit | kept |", "|---|---|---|---|"]
    words = {True: "yes", False: "**no**", None: ""}
    lines += [f"| {what} | {told} | {limit} | {words[kept]} |" for what, told, limit, kept in rows]
    return "\n".join(lines)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds >= 0.01 else f"{seconds * 1e3:.1f} ms"

"""Renders tables from benchmarks/results/*.json: ``python -m benchmarks.render [--check]``.

A page that wants one holds two comments, and what stands between them is replaced:

    <!-- bench: NAME -->
    <!-- end bench -->

With NAME.VIEW it is not the benchmark's table but one of its other `VIEWS`.

benchmarks/README.md is written whole.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import NAMES

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results"
MARK = re.compile(r"(?P<begin><!-- bench: (?P<name>[\w.-]+) -->\n).*?(?P<end><!-- end bench -->)", re.DOTALL)

Results = dict[str, dict[str, Any]]


def load() -> Results:
    """Every result that has been measured, by name."""
    found = {name: RESULTS / f"{name}.json" for name in NAMES}
    return {n: json.loads(p.read_text(encoding="utf-8")) for n, p in found.items() if p.exists()}


def pages() -> list[Path]:
    """The pages that may hold tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def table(wanted: str, results: Results) -> str:
    """One benchmark's table or other view, and below it where and when it was measured.

    Raises:
        ValueError: there is no benchmark of that name, or it has no such view.
    """
    name, _, view = wanted.partition(".")
    if name not in NAMES:
        raise ValueError(f"no benchmark {name!r}; there are {', '.join(NAMES)}")
    if name not in results:
        return f"*Not measured yet: `python -m benchmarks {name}`.*\n"
    result = results[name]
    module = import_module(f"benchmarks.{name}")
    views = {"": module.table, **getattr(module, "VIEWS", {})}
    if view not in views:
        raise ValueError(f"{name} has no view {view!r}")
    body = views[view](result["data"]).strip()
    return f"{body}\n\n*{_where(result)}; {result['date']}; `benchmarks/{name}.py`.*\n"


def fill(text: str, results: Results) -> str:
    """The page with every marked table replaced."""
    return MARK.sub(lambda m: f"{m['begin']}{table(m['name'], results)}{m['end']}", text)


def overview(results: Results) -> str:
    """benchmarks/README.md: the machine and the method on top, then every claim with its table."""
    machines = {json.dumps(_machine_lines(r)): _machine_lines(r) for r in results.values()}
    lines = [
        "<!-- Written by `python -m benchmarks.render`; do not edit. -->",
        "# Benchmarks",
        "",
        "One file is one claim, measured as a ratio in one run. `make bench` measures all of them again (it",
        "takes a while, and wants a machine that does nothing else), `python -m benchmarks NAME` one.",
        "",
        "## Machine",
    ]
    for machine in machines.values():
        lines += ["", *machine]
    if not machines:
        lines += ["", "Nothing has been measured yet."]
    lines += [
        "",
        "## Method",
        "",
        "Comparisons of models are made as `hotlap bench` makes them: every process fresh and alone, the",
        "sides in balanced order (A B B A), the 95 % interval from the spread of p50 *between* processes.",
        "See [Measuring](../docs/explanation/measuring.md). What else a benchmark does is said beside it.",
    ]
    for name in NAMES:
        module = import_module(f"benchmarks.{name}")
        lines += ["", f"## {name}", "", module.CLAIM, "", module.METHOD, "", table(name, results).rstrip()]
    return "\n".join(lines) + "\n"


def rendered() -> dict[Path, str]:
    """Every page as it should be."""
    results = load()
    found = {p: fill(p.read_text(encoding="utf-8"), results) for p in pages()}
    return {**found, **pictures(results), ROOT / "benchmarks" / "README.md": overview(results)}


def pictures(results: Results) -> dict[Path, str]:
    """docs/NAME.svg for each benchmark that has a `picture`."""
    drawn = {n: getattr(import_module(f"benchmarks.{n}"), "picture", None) for n in results}
    return {ROOT / "docs" / f"{n}.svg": draw(results[n]["data"]) for n, draw in drawn.items() if draw}


def stale() -> list[Path]:
    """The pages that are not what the results say."""
    return [
        path
        for path, text in rendered().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def refresh() -> list[str]:
    """Write the stale pages; returns their paths below the repository's root."""
    wanted, old = rendered(), stale()
    for path in old:
        path.write_text(wanted[path], encoding="utf-8")
    return [path.relative_to(ROOT).as_posix() for path in old]


def _where(result: dict[str, Any]) -> str:
    machine = result["machine"]
    ort = machine["versions"].get("onnxruntime")
    return f"{machine['cpu']}, {machine['cpus']}" + (f", onnxruntime {ort}" if ort else "")


def _machine_lines(result: dict[str, Any]) -> list[str]:
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    memory = "" if machine["memory_gb"] is None else f", {machine['memory_gb']} GB of memory"
    return [
        f"- {machine['cpu']} ({', '.join(machine['instruction_sets'])}){memory}",
        f"- {machine['cpus']}",
        f"- {versions}",
    ]


def main(argv: list[str]) -> int:
    if argv not in ([], ["--check"]):
        print("usage: python -m benchmarks.render [--check]", file=sys.stderr)
        return 2
    if argv:
        old = [p.relative_to(ROOT).as_posix() for p in stale()]
        for path in old:
            print(f"{path} is not what benchmarks/results say: run make render", file=sys.stderr)
        return 1 if old else 0
    for path in refresh():
        print(f"rendered {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

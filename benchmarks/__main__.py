"""Runs benchmarks and keeps what they find: ``python -m benchmarks [NAME …] [--quick]``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from benchmarks import NAMES
from benchmarks.render import RESULTS, refresh
from hotlap.machine import Machine
from hotlap.plan.files import write_whole


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}; none: all")
    parser.add_argument("--quick", action="store_true", help="a smoke run; writes nothing")
    parser.add_argument(
        "--part", action="append", default=[], metavar="PART", help="of one that has parts; again"
    )
    args = parser.parse_args(argv)
    unknown = [n for n in args.names if n not in NAMES]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if args.part and len(args.names) != 1:
        parser.error("--part is a part of one benchmark: name it")
    for name in args.names or NAMES:
        print(f"── {name}", flush=True)
        result = run(name, quick=args.quick, parts=args.part)
        print(import_module(f"benchmarks.{name}").table(result["data"]), flush=True)
        if not args.quick:
            RESULTS.mkdir(exist_ok=True)
            text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
            write_whole(RESULTS / f"{name}.json", text.encode())
    if not args.quick:
        for path in refresh():
            print(f"rendered {path}")
    return 0


def run(name: str, *, quick: bool, parts: Sequence[str] = ()) -> dict[str, Any]:
    """One benchmark's result with what explains it: claim, method, machine, date, versions.

    `parts` are for a benchmark that has some: those alone are measured, and the others stay as they were.
    """
    module = import_module(f"benchmarks.{name}")
    start = time.monotonic()
    data = module.main(quick, parts) if parts else module.main(quick)
    return {
        "name": name,
        "claim": module.CLAIM,
        "method": module.METHOD,
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(time.monotonic() - start),
        "data": data,
    }


def machine() -> dict[str, Any]:
    """What a reader must know of the machine; nothing that names it."""
    here = Machine.brief()
    wanted = ("python", "hotlap", "numpy", "onnxruntime", "onnxruntime-ep-openvino")
    return {
        "cpu": here.cpu.model,
        "instruction_sets": list(here.cpu.instruction_sets),
        "cpus": here.cpus.reason,
        "memory_gb": None if here.memory.total is None else round(here.memory.total / 1e9),
        "versions": {name: here.versions[name] for name in wanted if name in here.versions},
    }


if __name__ == "__main__":
    sys.exit(main())

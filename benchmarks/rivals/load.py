"""The client: wrk, one thread, pinned to a CPU of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.rivals.asking import Request
from benchmarks.rivals.venvs import Missing

SCRIPT = Path(__file__).resolve().with_name("wrk.lua")


def version() -> str:
    """Which wrk this is; empty where there is none."""
    if shutil.which("wrk") is None:
        return ""
    # It has no such option: it prints its version and its usage, and fails.
    told = subprocess.run(["wrk", "--version"], capture_output=True, text=True, check=False)
    return (told.stdout + told.stderr).partition("[")[0].strip()


def must_be_there() -> None:
    """Raises Missing where there is no wrk."""
    if not version():
        raise Missing("wrk is not installed (Debian: apt-get install wrk)")


def load(
    port: int, request: Request, *, connections: int, seconds: float, cpu: int, folder: Path
) -> dict[str, Any]:
    """Post the request over so many connections, each as soon as it has its answer.

    Returns:
        requests, seconds, errors, p50_us, p95_us, p99_us.

    Raises:
        RuntimeError: a request failed.
    """
    body = folder / "body"
    body.write_bytes(request.body)
    headers = [f"{name}: {value}" for name, value in request.headers.items()]
    # wrk takes whole seconds.
    command = ["taskset", "-c", str(cpu), "wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s"]
    command += ["--timeout", "30s", "-s", str(SCRIPT), f"http://127.0.0.1:{port}{request.path}", "--"]
    done = subprocess.run([*command, str(body), *headers], capture_output=True, text=True, check=True)
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if seen["errors"] or not seen["requests"]:
        raise RuntimeError(f"{seen['errors']} of {seen['requests']} requests failed: {done.stdout}")
    return seen

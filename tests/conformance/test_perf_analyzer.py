"""Triton's own load generator, unchanged: over HTTP, and with tensors in shared memory."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest

from hotlap.serve.serving import Server
from tests.conformance.environment import missing

TOOL = Path(__file__).parent / "perf_analyzer"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="perf_analyzer runs on Linux alone"),
]


@pytest.fixture(scope="module")
def tool() -> Path:
    """perf_analyzer, once it could be laid out."""
    done = subprocess.run([TOOL, "--version"], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        missing("perf_analyzer cannot be laid out here: it needs Debian on x86-64 and the package indexes")
    return TOOL


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["-b", "4"],
        ["--shared-memory", "system", "--output-shared-memory-size", "64"],
        ["--input-tensor-format", "json", "--output-tensor-format", "json"],
        ["--collect-metrics", "--trace-level", "TIMESTAMPS"],
    ],
    ids=["bytes", "rows", "shared memory", "JSON", "metrics and traces"],
)
def test_it_measures_a_server(server: Server, tool: Path, tmp_path: Path, options: list[str]) -> None:
    address = server.url.removeprefix("http://")
    if "--collect-metrics" in options:
        options = [*options, "--metrics-url", f"{address}/metrics"]
    counted = server.engine.models["mlp"].statistics
    requests, rows = counted.requests["ok"].count, counted.inference_count
    failed = _failed(server)
    told = tmp_path / "told.csv"
    windows = [
        "--measurement-mode",
        "count_windows",
        "--measurement-request-count",
        "50",
        "-r",
        "3",
        "-s",
        "999",
    ]
    done = subprocess.run(
        [
            tool,
            "-m",
            "mlp",
            "-i",
            "http",
            "-u",
            address,
            "--concurrency-range",
            "2",
            *windows,
            "-f",
            told,
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = csv.DictReader(told.read_text().splitlines())
    assert float(row["Inferences/Second"]) > 0
    requests, rows = counted.requests["ok"].count - requests, counted.inference_count - rows
    assert requests >= 150  # three windows of fifty
    assert rows == requests * (4 if "-b" in options else 1)
    assert _failed(server) == failed
    assert counted.compute.ns > 0


def _failed(server: Server) -> int:
    requests = server.engine.models["mlp"].statistics.requests
    return sum(spread.count for outcome, spread in requests.items() if outcome != "ok")

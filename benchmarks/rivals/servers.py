"""Every server: its command, its environment and the question in its words."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.rivals import asking, venvs
from benchmarks.rivals.asking import Request
from benchmarks.rivals.cases import Case

PROGRAMS = Path(__file__).resolve().parent / "programs"
SOURCE = Path(__file__).resolve().parents[2] / "src"


@dataclass(frozen=True, slots=True)
class Server:
    """One server.

    Attributes:
        name: what the table calls it.
        command: (case, port, an empty folder of its own) to what is run.
        request: the question in its words.
        venv: the name of its versions; empty: it is ours.
        env: what it needs besides.
    """

    name: str
    command: Callable[[Case, int, Path], list[str]]
    request: Callable[[Case], Request]
    venv: str = ""
    env: dict[str, str] = field(default_factory=dict)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def environment(server: Server, case: Case, folder: Path) -> dict[str, str]:
    """Bytecode is kept as an installed package's is: ours in a folder that outlives the process."""
    unwanted = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    if not server.venv:
        bytecode = str(folder.parent / "bytecode")
        return {**kept, **server.env, "PYTHONPATH": str(SOURCE), "PYTHONPYCACHEPREFIX": bytecode}
    own = {"PYTHONPATH": str(PROGRAMS), "PYTHONDONTWRITEBYTECODE": "1", "MODEL": str(case.model)}
    return {**kept, **server.env, **own}


def _program(venv: str, name: str) -> str:
    return str(venvs.VENVS / venv / "bin" / name)


def _hotlap(case: Case, port: int, folder: Path) -> list[str]:
    return [sys.executable, "-m", "hotlap", "serve", str(case.model), "--http", str(port)]


def _fastapi(case: Case, port: int, folder: Path) -> list[str]:
    fast = ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"]
    return [_program("fastapi", "uvicorn"), "fastapi_app:app", "--port", str(port), *fast]


def _mlserver(case: Case, port: int, folder: Path) -> list[str]:
    """Without `debug` it writes no access log."""
    ports = {"http_port": port, "grpc_port": free_port(), "metrics_port": free_port()}
    settings = {"host": "127.0.0.1", "debug": False, "parallel_workers": 0, **ports}
    model = {
        "name": case.name,
        "implementation": "mlserver_model.Onnx",
        "parameters": {"uri": str(case.model)},
    }
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "model-settings.json").write_text(json.dumps(model), encoding="utf-8")
    return [_program("mlserver", "mlserver"), "start", str(folder)]


def _litserve(case: Case, port: int, folder: Path) -> list[str]:
    return [_program("litserve", "python"), str(PROGRAMS / "litserve_app.py"), str(port)]


def _bentoml(case: Case, port: int, folder: Path) -> list[str]:
    where = ["--host", "127.0.0.1", "--port", str(port), "--working-dir", str(PROGRAMS)]
    return [_program("bentoml", "bentoml"), "serve", "bentoml_app:Mlp", *where]


def _floor(case: Case, port: int, folder: Path) -> list[str]:
    given = (str(case.model), str(case.saved_feed()), case.wanted, str(port))
    return [sys.executable, str(PROGRAMS / "floor.py"), *given]


HOTLAP = Server("hotlap", _hotlap, asking.v2_json)
BINARY = Server("hotlap, binary", _hotlap, asking.v2_binary)
FLOOR = Server("a socket alone", _floor, asking.v2_json)
FASTAPI = Server("FastAPI", _fastapi, lambda case: asking.plain(case, f"/{case.name}"), "fastapi")
MLSERVER = Server("MLServer", _mlserver, asking.v2_json, "mlserver")
LITSERVE = Server("LitServe", _litserve, lambda case: asking.plain(case, "/predict"), "litserve")
BENTOML = Server(
    "BentoML",
    _bentoml,
    partial(asking.plain, path="/predict", read=lambda reply: reply),
    "bentoml",
    {"BENTOML_DO_NOT_TRACK": "True"},
)
ALL = (HOTLAP, BINARY, FASTAPI, MLSERVER, LITSERVE, BENTOML)


def versions() -> dict[str, dict[str, str]]:
    """What the servers stand on, those of them that are installed."""
    ours = {}
    for name in ("uvloop", "httptools"):
        with suppress(PackageNotFoundError):
            ours[name] = version(name)
    rivals = {s.name: venvs.versions(s.venv) for s in ALL if s.venv and venvs.is_ready(s.venv)}
    return {HOTLAP.name: ours, **rivals}

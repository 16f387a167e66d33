"""The examples that ask a server, with the client that they name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hotlap.serve.loading import load
from hotlap.serve.serving import Server
from tests import tiny
from tests.conformance.environment import ROOT, run


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tiny.save(tiny.mlp(), tmp_path_factory.mktemp("model") / "model.onnx")
    with Server(load([path])) as server:
        yield server


def answer(server: Server, rows: int) -> list[list[float]]:
    x = np.ones((rows, 16), np.float32)
    y: list[list[float]] = server.engine.models["model"].runner.run({"x": x})["y"].tolist()
    return y


def example(name: str, server: Server) -> str:
    return run(ROOT / "examples" / name, server.url.removeprefix("http://"), "model")


def test_over_http(server: Server) -> None:
    said = example("ask_over_http.py", server)
    assert said == f"y {answer(server, 1)}\nanswered so far: 1\n"


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm, which Linux has")
def test_over_shared_memory(server: Server) -> None:
    assert example("ask_over_shared_memory.py", server) == f"y {answer(server, 8)}\n"

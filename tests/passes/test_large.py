"""A model of more than 2 GiB goes through the passes without its weights ever being in memory."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.model import Model
from hotlap.passes import Draft, apply, optimize
from hotlap.passes.bind_axes import BindAxes
from hotlap.passes.fold import Fold
from hotlap.passes.saving import written
from hotlap.runtime import default_session
from tests import tiny

ROWS, WIDTH, TABLES = 50_000_000, 4, 3
NEEDED = 6 << 30
"""Bytes: two copies, where the file system keeps no holes."""


def large_model(folder: Path) -> Path:
    """y = the sum of rows of three tables of 800 MB each, all zeros; ids: int64[N].

    One table is a row longer than the one before, so that they are not the same weight three times.
    """
    nodes = [tiny.node("Gather", [f"table{n}", "ids"], [f"rows{n}"]) for n in range(TABLES)]
    nodes += [
        tiny.node("Sum", [f"rows{n}" for n in range(TABLES)], ["sum"]),
        tiny.node("Identity", ["sum"], ["same"]),
        tiny.node("Shape", ["ids"], ["count"]),
        tiny.node("Cast", ["count"], ["number"], to=T.FLOAT),
        tiny.node("Add", ["same", "number"], ["y"]),
    ]
    model = tiny.model(nodes, [tiny.info("ids", T.INT64, ["N"])], [tiny.info("y", T.FLOAT, ["N", WIDTH])])
    end = 0
    for n in range(TABLES):
        table = model.graph.initializer.add(
            name=f"table{n}", data_type=T.FLOAT, dims=[ROWS + n, WIDTH], data_location=T.EXTERNAL
        )
        size = (ROWS + n) * WIDTH * 4
        for key, value in {"location": "m.data", "offset": end, "length": size}.items():
            table.external_data.add(key=key, value=str(value))
        end += size
    with (folder / "m.data").open("wb") as file:
        file.truncate(end)
    return tiny.save(model, folder / "m.onnx")


def peak() -> int:
    """Bytes of memory that this process has held at most."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    if sys.platform == "win32":
        pytest.skip("NTFS fills holes unless each file is told otherwise")
    if shutil.disk_usage(tmp_path).free < NEEDED:
        pytest.skip(f"needs {NEEDED >> 30} GiB of disk")
    return large_model(tmp_path)


def check(out: Path) -> None:
    """The written file is as large, has the bound size, and answers."""
    assert Model.load(out).size > 2 << 30
    declared = onnx.load(out, load_external_data=False).graph.input[0].type.tensor_type.shape
    assert declared.dim[0].dim_value == 2
    answer = default_session(out).run({"ids": np.array([0, ROWS - 1])})["y"]
    np.testing.assert_array_equal(answer, np.full((2, WIDTH), 2, np.float32))


@pytest.mark.slow
def test_bind_fold_and_save(path: Path, tmp_path: Path) -> None:
    before = peak()
    draft = Draft.load(path)
    applied = apply(draft, [BindAxes({"N": 2}), Fold()])
    assert [step.changed for step in applied.steps] == [True, True]
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "m.onnx"
    with written(applied.draft, out, {}) as files:
        files.put()
    assert peak() - before < 300 << 20
    check(out)
    (tmp_path / "m.data").unlink()
    shutil.rmtree(tmp_path / "out")


@pytest.mark.slow
def test_the_whole_of_optimize(path: Path, tmp_path: Path) -> None:
    """With the proof: both files are loaded and run, each in a process of its own."""
    found = optimize(path, [BindAxes({"N": 2}), Fold()], tmp_path / "out.onnx", measure=False)
    assert found.written and found.size > 2 << 30, found.reason
    assert found.verdict is not None and found.verdict.passed
    check(tmp_path / "out.onnx")
    for file in tmp_path.glob("*.data"):
        file.unlink()

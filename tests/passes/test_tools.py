from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest

from hotlap.errors import ModelError, TargetFailed, UsageError
from hotlap.passes import apply, default_passes, named_pass, tools
from hotlap.passes.fuse import Fuse
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed


def test_every_tool_is_there() -> None:
    from importlib import import_module

    for module in tools.TOOLS.values():
        assert callable(import_module(module).tool)


def test_a_tool_runs_in_a_process_of_its_own_and_writes_a_file(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    result, scratch = tools.run_tool("infer", draft)
    assert result.is_file() and scratch.path.is_dir()
    folder = scratch.path
    del scratch
    assert not folder.exists()


def test_a_tool_that_refuses_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TargetFailed, match=r"^convert: .* has no step for Relu of version 14$") as caught:
        tools.run_tool("convert", draft_of(tiny.mlp(), tmp_path), {"version": 11})
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_a_tool_that_crashes_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "crashing_tool.py").write_text(
        "import os, signal\ndef tool(source, result):\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    # The process runs the module as __main__, so the table is changed where it is made.
    monkeypatch.setattr(tools, "CHILD", "crashing_child")
    (tmp_path / "crashing_child.py").write_text(
        "from hotlap.passes import tools\ntools.TOOLS['fold'] = 'crashing_tool'\ntools.main()\n"
    )
    with pytest.raises(TargetFailed, match=r"fold: the process crashed \(SIGSEGV\)"):
        tools.run_tool("fold", draft_of(tiny.mlp(), tmp_path))


@pytest.mark.usefixtures("here")
def test_a_graph_in_which_something_is_missing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("forgetful_tool")

    def tool(source: Path, result: Path) -> None:
        model = onnx.load(source)
        del model.graph.node[0]
        onnx.save(model, result)

    module.tool = tool  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "forgetful_tool", module)
    monkeypatch.setitem(tools.TOOLS, "fold", "forgetful_tool")
    told = 'fold: it wrote a broken graph: Relu "→ r" reads "h", which nothing makes; nothing was kept'
    with pytest.raises(ModelError, match=re.escape(told)):
        tools.rewritten("fold", draft_of(tiny.mlp(), tmp_path))


def sparse(attribute: bool = False) -> onnx.ModelProto:
    """y = x * s + (a + b), where s is sparse: a weight, or what a node says."""
    three = onnx.numpy_helper.from_array(np.array([3], np.float32), "s")
    value = onnx.helper.make_sparse_tensor(three, onnx.numpy_helper.from_array(np.zeros(1, np.int64)), [2])
    model = tiny.model(
        [
            *([tiny.node("Constant", [], ["s"], sparse_value=value)] if attribute else []),
            tiny.node("Mul", ["x", "s"], ["m"]),
            tiny.node("Add", ["a", "b"], ["ab"]),
            tiny.node("Add", ["m", "ab"], ["y"]),
        ],
        [tiny.info("x", 1, ["N", 2])],
        [tiny.info("y", 1, ["N", 2])],
        {"a": np.ones(2, np.float32), "b": np.ones(2, np.float32)},
        opset=16,
    )
    if not attribute:
        model.graph.sparse_initializer.append(value)
    return model


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("attribute", [False, True])
def test_sparse_weights(attribute: bool, tmp_path: Path) -> None:
    draft = draft_of(sparse(attribute), tmp_path)
    fused = apply(draft, [Fuse()]).draft
    assert fused.node_count() == 2
    feed = rng_feed(x=(2, 2))
    assert_same(answers(draft, feed, tmp_path), answers(fused, feed, tmp_path))
    for name in ("fold", "convert-opset:17"):  # their tools lose them, or end in a traceback
        with pytest.raises(UsageError, match="sparse weights"):
            apply(draft, [named_pass(name)])
    by_default = apply(draft, default_passes(), strict=False)
    assert by_default.draft is draft
    assert by_default.steps[2].notes == ("left out: the optimizer loses sparse weights",)


def test_the_first_cause_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("wrapping_tool")

    def tool(source: Path, result: Path) -> None:
        try:
            raise ValueError("the first")
        except ValueError as error:
            raise RuntimeError("wrapped") from error

    module.tool = tool  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wrapping_tool", module)
    monkeypatch.setitem(tools.TOOLS, "fold", "wrapping_tool")
    job = tools.Job(tool="fold", source="a", result="b", outcome="c")
    with pytest.raises(ModelError, match="ValueError: the first"):
        tools.work(job)

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from onnx import TensorProto as T
from onnx import helper

from hotlap.cli import main
from tests import tiny


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    built = {"a": tiny.mlp(), "b": tiny.mlp(hidden=8), "c": tiny.mlp()}
    built["c"].graph.node[0].name = "\x1b[31mred"
    return {name: tiny.save(model, tmp_path / f"{name}.onnx") for name, model in built.items()}


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str]:
    with pytest.raises(SystemExit) as done:
        main(["diff", *map(str, args)])
    assert isinstance(done.value.code, int)
    return done.value.code, capsys.readouterr().out


def test_what_differs_in_columns(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, files["a"], files["b"])
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == f"{files['a']} → {files['b']}"
    assert "Weights: 4 changed, 0 new, 0 gone" in lines
    assert "  w1  float32[16, 32]             →  float32[16, 8]" in lines
    assert "  multiply-adds  640*batch         →  160*batch" in lines
    assert all(line == line.rstrip() for line in lines)


def test_the_exit_code_is_that_of_git(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, files["a"], files["b"], "--exit-code")[0] == 1
    code, out = run(capsys, files["a"], files["a"], "--exit-code")
    assert code == 0 and out.endswith("no difference: the same byte for byte\n")
    code, out = run(capsys, files["a"], files["c"])
    assert code == 0 and "no difference but in how the file is written" in out


def test_json_has_everything(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, files["a"], files["b"], "--json")
    found = json.loads(out)
    assert code == 0 and found["identical"] is False
    assert found["weights"][0] == {"name": "w1", "before": "float32[16, 32]", "after": "float32[16, 8]"}
    assert found["findings_came"] == found["findings_went"] == []


def test_long_lists_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = tiny.save(tiny.many_inputs(2), tmp_path / "a.onnx")
    b = tiny.save(tiny.many_inputs(30), tmp_path / "b.onnx")
    _, out = run(capsys, a, b)
    assert "  x13  none  →  float32[4]" in out and "x14" not in out and "  and 16 more" in out


def test_no_name_reaches_the_terminal_as_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    red = tiny.mlp()
    red.metadata_props.add(key="\x1b[31m", value="\x07")
    a, b = tiny.save(tiny.mlp(), tmp_path / "a.onnx"), tiny.save(red, tmp_path / "b.onnx")
    _, out = run(capsys, a, b)
    assert "\x1b[31m" not in out and "\x07" not in out and r"metadata \x1b[31m" in out


def test_a_missing_file_is_wrong_usage(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, files["a"], files["a"].with_name("z.onnx"))[0] == 2


def test_nodes_that_differ_are_told_grouped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def leaky(alpha: float, count: int) -> Path:
        names = ["x", *(f"h{n}" for n in range(1, count)), "y"]
        nodes = [
            helper.make_node("LeakyRelu", [one], [two], name=f"n{two}", alpha=alpha)
            for one, two in itertools.pairwise(names)
        ]
        made = tiny.model(nodes, [tiny.info("x", T.FLOAT, ["n"])], [tiny.info("y", T.FLOAT, ["n"])])
        return tiny.save(made, tmp_path / f"{alpha}{count}.onnx")

    _, out = run(capsys, leaky(0.01, 1), leaky(0.5, 1))
    assert "no difference" not in out
    assert 'Nodes\n  LeakyRelu "ny": alpha  0.01  →  0.5\n' in out
    _, out = run(capsys, leaky(0.01, 3), leaky(0.5, 3))
    assert '  3 LeakyRelu, first LeakyRelu "nh1": alpha  0.01  →  0.5\n' in out

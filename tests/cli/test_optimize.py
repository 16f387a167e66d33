from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotlap.cli import main
from hotlap.passes import Draft, judging, tools
from hotlap.verify import Verdict
from tests import tiny
from tests.passes.conftest import ask_here
from tests.passes.test_fold import shape_arithmetic
from tests.passes.test_speed import compared


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["optimize", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_it_writes_a_file_and_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    out = tmp_path / "out.onnx"
    assert run(path, "-o", out, "--no-measure") == 0
    said = capsys.readouterr().out
    assert "fold                   5 nodes became 1" in said
    assert "Nodes: 5 before, 1 after. Size: " in said and " B before, " in said and " MB" not in said
    assert "Answers agree: exact:" in said and "Speed: not measured: not asked for." in said
    assert said.rstrip().endswith(f"Written: {out}")


def test_passes_and_fixes_in_the_order_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tiny.save(tiny.zipmap(), tmp_path / "m.onnx")
    out = tmp_path / "out.onnx"
    given = ["--pass", "rename:x=a", "--fix", "HL401", "--pass=rename:a=b"]
    assert run(path, "-o", out, *given, "--no-measure", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [s["name"] for s in found["steps"]] == ["rename", "remove-zipmap", "rename"]
    assert found["written"] is True and found["verdict"]["passed"] is True
    assert Draft.load(out).input_names == ("b",)


def test_nothing_to_do_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    assert run(path, "-o", tmp_path / "out.onnx") == 0
    assert "Nothing written, because no pass changed anything" in capsys.readouterr().out
    assert not (tmp_path / "out.onnx").exists()


def test_a_broken_model_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tiny.mlp()
    made.graph.node[0].input[1] = "nope"
    path = tiny.save(made, tmp_path / "m.onnx")
    assert run(path, "-o", tmp_path / "out.onnx") == 2
    said = capsys.readouterr().err
    assert "'nope'" in said and "no pass was applied" in said and "fold" not in said


def test_a_named_pass_that_changes_nothing_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    assert run(path, "-o", tmp_path / "out.onnx", "--pass", "cut", "--pass", "lower-ir:99") == 2
    said = capsys.readouterr().err
    assert "cut: every node and every weight leads to an output" in said
    assert "lower-ir: its IR version is" in said
    assert not (tmp_path / "out.onnx").exists()


def test_one_idle_pass_among_others_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    assert run(path, "-o", tmp_path / "out.onnx", "--pass", "cut", "--pass", "fold", "--no-measure") == 0
    assert "cut                    every node" in capsys.readouterr().out


def test_a_void_measurement_tells_the_cpu_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    monkeypatch.setattr(judging, "compare", lambda *_: compared(0.5, 1.3, foreign=0.4))
    assert run(path, "-o", tmp_path / "out.onnx") == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "Speed: void: other work disturbed 100 % of the processes" in said
    assert "CPU time a call: 1.30 times that of the source" in said and ": more." in said
    assert "times as fast" not in said


@pytest.mark.parametrize("output", [True, False])
def test_a_gate_that_says_no_is_1_with_a_file_to_write_and_without(
    output: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def differ(*_: object, **__: object) -> Verdict:
        return Verdict(level="exact", passed=False, reason="other numbers", generated=True)

    monkeypatch.setattr(tools, "ask", ask_here)
    monkeypatch.setattr(judging, "prove", differ)
    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    assert run(path, "--json", *(("-o", tmp_path / "out.onnx") if output else ())) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["refused"] is True and "other numbers" in json.loads(said.out)["reason"]
    assert said.err == "optimising: applying passes\noptimising: verifying the answers\n"


def test_wrong_usage_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    assert run(path, "--pass", "fuze") == 2
    assert 'no pass "fuze"' in capsys.readouterr().err
    assert run(path, "--pass", "bind-axes:bach=1") == 2
    assert 'did you mean "batch"' in capsys.readouterr().err
    assert run(path, "--pass") == 2
    capsys.readouterr()

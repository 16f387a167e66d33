from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest

from hotlap.cli import main
from hotlap.inspect import inspecting
from hotlap.model.cost import Cost
from tests import tiny


class Done(NamedTuple):
    code: int
    out: str
    err: str


Hotlap = Callable[..., Done]


@pytest.fixture
def hotlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Iterator[Hotlap]:
    """The command line in a folder that holds model.onnx; what it says and its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    tiny.save(tiny.mlp(), tmp_path / "model.onnx")
    tiny.save(tiny.text(), tmp_path / "text.onnx")
    # Its own tests count; here it would be two seconds each time.
    monkeypatch.setattr(inspecting, "cost_of", lambda path: Cost(why="not counted"))
    root = logging.getLogger()
    before = root.handlers[:]

    def hotlap(*arguments: str) -> Done:
        root.handlers[:] = []  # the command sets up its own log, on the stderr of now
        with pytest.raises(SystemExit) as caught:
            main(["inspect", *arguments])
        root.handlers[:] = before
        return Done(caught.value.code, *capfd.readouterr())  # type: ignore[arg-type]

    yield hotlap
    root.handlers[:] = before


def twice(folder: Path) -> None:
    built = tiny.mlp()
    built.graph.node.append(tiny.node("Neg", ["h"], ["y"]))
    tiny.save(built, folder / "twice.onnx")


def test_a_healthy_model_is_told_in_a_few_lines(hotlap: Hotlap) -> None:
    done = hotlap("model.onnx")
    assert (done.code, done.err) == (0, "")
    lines = [line.rstrip() for line in done.out.splitlines()]
    assert lines[0].startswith("model       model.onnx, 2.9 kB, tiny")
    assert "inputs      x float32[batch, 16]" in lines
    assert "nodes       3: 2 Gemm, 1 Relu" in lines
    assert any(line.startswith("run         3 nodes on cpu; on inputs made to fit") for line in lines)
    assert lines[-1] == "0 errors, 0 warnings, 0 info"


def test_a_finding_is_told_with_what_it_blames(hotlap: Hotlap, tmp_path: Path) -> None:
    twice(tmp_path)
    done = hotlap("twice.onnx", "--no-probe")
    assert done.code == 1, "the default: errors fail"
    assert 'error HL412 "y" is made here, and is made by Gemm "→ y" already' in done.out
    assert '  node    Neg "→ y"\n' in done.out
    assert '  tensor  "y"' in done.out
    assert "  fix     rename one of the two" in done.out
    assert done.out.rstrip().endswith("1 error, 0 warnings, 0 info; docs: docs/reference/findings/HL412.md")


@pytest.mark.parametrize(
    ("fail_on", "code"), [((), 0), (("--fail-on", "info"), 1), (("--fail-on", "warning"), 0)]
)
def test_what_fails_is_chosen(hotlap: Hotlap, fail_on: tuple[str, ...], code: int) -> None:
    assert hotlap("text.onnx", "--no-probe", *fail_on).code == code


def test_an_error_need_not_fail(hotlap: Hotlap, tmp_path: Path) -> None:
    twice(tmp_path)
    assert hotlap("twice.onnx", "--no-probe", "--fail-on", "never").code == 0
    assert hotlap("twice.onnx", "--no-probe", "--ignore", "hl412").code == 0
    done = hotlap("twice.onnx", "--no-probe", "--ignore", "HL4")
    assert done.out.rstrip().endswith("0 errors, 0 warnings, 0 info; ignored: HL4")


def test_json_is_the_whole_inspection(hotlap: Hotlap) -> None:
    for words in (("--json",), ("--format", "json")):
        document = json.loads(hotlap("text.onnx", "--no-probe", *words).out)
        assert (document["format"], document["judged"]["providers"]) == (1, ["cpu"])
        assert [f["code"] for f in document["findings"]] == ["HL403", "HL403", "HL405"]


def test_the_formats_of_ci(hotlap: Hotlap) -> None:
    log = json.loads(hotlap("text.onnx", "--no-probe", "--format", "sarif").out)
    assert [r["ruleId"] for r in log["runs"][0]["results"]] == ["HL403", "HL403", "HL405"]
    lines = hotlap("text.onnx", "--no-probe", "--format", "github").out.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::notice"] * 3


def test_other_runtimes_are_judged_for(hotlap: Hotlap) -> None:
    done = hotlap("model.onnx", "--no-probe", "--target-ort", "1.11", "--target-cpu", "avx2")
    assert done.code == 1
    assert "error HL301 opset 17 is newer than onnxruntime 1.11 reads (16 at most)" in done.out
    assert "judged for  onnxruntime 1.11, avx2, cpu" in done.out


def test_the_executed_graph_is_written(hotlap: Hotlap, tmp_path: Path) -> None:
    done = hotlap("model.onnx", "--executed", "out.onnx")
    assert (done.code, "executed graph: out.onnx" in done.out) == (0, True)
    assert [n.op_type for n in onnx.load(tmp_path / "out.onnx").graph.node] == ["FusedGemm", "Gemm"]
    before = (tmp_path / "model.onnx").read_bytes()
    done = hotlap("model.onnx", "--executed", "model.onnx")
    assert (done.code, "would overwrite the model itself" in done.err) == (2, True)
    assert (tmp_path / "model.onnx").read_bytes() == before


def test_the_users_inputs_are_run(hotlap: Hotlap, tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", x=np.ones((1, 16), np.float32))
    done = hotlap("model.onnx", "--data", "one.npz")
    assert (done.code, "on your inputs" in done.out) == (0, True)
    np.savez(tmp_path / "wrong.npz", z=np.ones((1, 16), np.float32))
    done = hotlap("model.onnx", "--data", "wrong.npz")
    assert done.code == 1
    assert "error HL309 it does not run on your inputs" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("missing.onnx",), "no such file"),
        (("folder",), "a folder, not a model file"),
        (("broken.onnx",), "not an ONNX file"),
        (("cut.onnx",), "cut short"),
        (("empty.onnx",), "the file is empty"),
        (("model.onnx", "--ignore", "HL999"), "no rule has the code"),
        (("model.onnx", "--target-ort", "9.9"), "target_ort"),
        (("model.onnx", "--target-cpu", "z80"), "target_cpu"),
        (("model.onnx", "--providers", "cudda"), "cudda"),
        (("model.onnx", "--providers", ","), "no provider"),
        (("model.onnx", "--data", "nothing"), "no such file or folder"),
        (("model.onnx", "--no-probe", "--data", "x.npz"), "leave --no-probe out"),
        (("model.onnx", "--no-probe", "--executed", "o.onnx"), "leave --no-probe out"),
        (("model.onnx", "--executed", "no/o.onnx"), "the folder does not exist"),
        (("model.onnx", "--format", "xml"), "xml"),
        (("model.onnx", "--json", "--format", "sarif"), "exclude each other"),
        (("model.onnx", "--json", "--format", "github"), "exclude each other"),
    ],
)
def test_bad_input_is_one_clear_line(
    hotlap: Hotlap, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken.onnx").write_text("no model")
    (tmp_path / "cut.onnx").write_bytes((tmp_path / "model.onnx").read_bytes()[:-500])
    (tmp_path / "empty.onnx").touch()
    done = hotlap(*words)
    assert done.code in (2, 3)
    assert said in done.err
    assert "Traceback" not in done.err and len(done.err.splitlines()) == 1


def test_no_name_reaches_the_terminal_as_a_command(hotlap: Hotlap, tmp_path: Path) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\n::error::[bold]x[/bold]"
    built = tiny.text()
    built.graph.input[0].name = built.graph.node[0].input[0] = evil
    built.graph.node.append(tiny.node("Identity", [evil], ["dead"], name=evil))
    built.producer_name = evil
    built.metadata_props.add(key=evil, value=evil)
    path = tiny.save(built, tmp_path / "evil.onnx")
    for words in ((), ("--format", "github"), ("--json",), ("--format", "sarif")):
        done = hotlap(str(path), "--no-probe", *words)
        assert "\x1b" not in done.out + done.err and "\x07" not in done.out + done.err, words
    text = hotlap(str(path), "--no-probe").out
    assert r"\x1b[2J" in text
    assert "[bold]x[/bold]" in text, "markup of names is shown, not obeyed"


def test_the_fix_can_be_pasted(hotlap: Hotlap, tmp_path: Path) -> None:
    built = tiny.mlp()
    built.graph.node.append(tiny.node("Neg", ["h"], ["dead"]))
    tiny.save(built, tmp_path / "a b.onnx")
    fix = "hotlap optimize 'a b.onnx' --fix HL407 -o 'a b.HL407.onnx'"
    assert f"fix   {fix}\n" in hotlap("a b.onnx", "--no-probe").out
    found = json.loads(hotlap("a b.onnx", "--no-probe", "--json").out)["findings"]
    assert [f["fix"] for f in found] == [fix]
    for form in ("sarif", "github"):
        assert fix in hotlap("a b.onnx", "--no-probe", "--format", form).out


def test_the_formats_of_ci_hold_what_could_not_be_read(hotlap: Hotlap, tmp_path: Path) -> None:
    (tmp_path / "cut.onnx").write_bytes((tmp_path / "model.onnx").read_bytes()[:-500])
    done = hotlap("cut.onnx", "--format", "sarif", "--fail-on", "never")
    (run,) = json.loads(done.out)["runs"]
    assert (done.code, run["invocations"][0]["executionSuccessful"]) == (2, False)
    done = hotlap("cut.onnx", "--format", "github", "--fail-on", "never")
    assert (done.code, len(done.out.splitlines())) == (2, 1)
    assert done.out.startswith("::error file=cut.onnx,") and "cut short" in done.out


def test_findings_of_several_rules_name_a_page(hotlap: Hotlap) -> None:
    last = hotlap("text.onnx", "--no-probe").out.splitlines()[-1]
    assert last == "0 errors, 0 warnings, 3 info; docs: docs/reference/findings/HL403.md, and so on"

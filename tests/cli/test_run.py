from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest

from hotlap.cli import main
from hotlap.plan import ModelRef, Plan
from hotlap.runtime import file_digest
from tests import tiny


class Done(NamedTuple):
    code: int
    out: str
    err: str


Hotlap = Callable[..., Done]
ROW = "x=[[" + ",".join(["1"] * 16) + "]]"


@pytest.fixture
def hotlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Iterator[Hotlap]:
    """The command line in a folder that holds model.onnx; what it says and its exit code."""
    monkeypatch.chdir(tmp_path)
    tiny.save(tiny.mlp(), tmp_path / "model.onnx")
    root = logging.getLogger()
    before = root.handlers[:]

    def hotlap(*arguments: str) -> Done:
        root.handlers[:] = []  # the command sets up its own log, on the stderr of now
        with pytest.raises(SystemExit) as caught:
            main(["run", *arguments])
        root.handlers[:] = before
        return Done(caught.value.code, *capfd.readouterr())  # type: ignore[arg-type]

    yield hotlap
    root.handlers[:] = before


def test_it_prints_a_summary_of_each_output(hotlap: Hotlap) -> None:
    done = hotlap("model.onnx", "--input", ROW)
    assert (done.code, done.err) == (0, "")
    first, second = done.out.splitlines()
    assert first.startswith("model.onnx: 3 nodes on cpu; threads ")
    assert second.startswith("y  float32[1, 4]  min -28.6537  mean ")
    assert "first -28.6537 -6.475" in second


def test_json_is_one_document_with_the_values(hotlap: Hotlap) -> None:
    done = hotlap("model.onnx", "--input", ROW, "--json", "--threads", "1", "--spin", "off")
    document = json.loads(done.out)
    assert (document["providers"], document["placement"]) == (["cpu"], {"cpu": 3})
    assert (document["threads"], document["spin"], document["notes"]) == (1, "off", [])
    y = document["outputs"]["y"]
    assert (y["dtype"], y["shape"], y["not_finite"]) == ("float32", [1, 4], 0)
    assert y["min"] == min(y["values"][0])
    assert y["values"] == [y["first"]]


def test_files_go_in_and_come_out(hotlap: Hotlap) -> None:
    np.save("x.npy", np.ones((2, 16), np.float32))
    done = hotlap("model.onnx", "--input", "x=x.npy", "--output", "out")
    assert "-> out/y.npy" in done.out.replace("\\", "/")
    assert np.load("out/y.npy").shape == (2, 4)
    np.savez("feed.npz", x=np.ones((2, 16), np.float32))
    again = json.loads(hotlap("model.onnx", "--input", "feed.npz", "--output", "out", "--json").out)
    assert Path(again["files"]["y"]) == Path("out/y.npy")


def test_a_plan_runs_as_it_says(hotlap: Hotlap) -> None:
    Plan(model=ModelRef(path="model.onnx", digest=file_digest(Path("model.onnx"))), threads=1).save(
        "plan.toml"
    )
    assert "threads 1" in hotlap("plan.toml", "--input", ROW).out
    assert "threads 1" in hotlap(".", "--input", ROW).out


def test_missing_inputs_are_listed_with_what_would_do(hotlap: Hotlap) -> None:
    tiny.save(tiny.gather_mask(), Path("text.onnx"))
    done = hotlap("text.onnx", "--input", "ids=[[1.5]]")
    assert done.code == 2
    hint = "give --input, or --generate to make one"
    assert done.err.splitlines() == [
        f'hotlap: input "mask": missing from the feed; expected int64[B, L]: {hint}',
        'input "ids": got list of float64, expected int64[B, L]',
    ]


def test_generate_makes_what_is_missing_to_fit_what_is_given(hotlap: Hotlap) -> None:
    tiny.save(tiny.gather_mask(), Path("text.onnx"))
    assert "float32[1, 32, 8]" in hotlap("text.onnx", "--generate").out
    assert "float32[2, 3, 8]" in hotlap("text.onnx", "--generate", "--input", "ids=[[1,2,3],[4,5,99]]").out
    assert hotlap("text.onnx", "--generate").out == hotlap("text.onnx", "--generate").out


def test_maps_text_and_strange_values_are_shown(hotlap: Hotlap) -> None:
    tiny.save(tiny.zipmap(), Path("trees.onnx"))
    done = hotlap("trees.onnx", "--input", "x=[[0.25, 0.75]]")
    assert "label  int64[1]  min 1  mean 1  max 1  first 1" in done.out
    assert "scores  list of 1  [{'0': 0.25, '1': 0.75}]" in done.out
    assert json.loads(hotlap("trees.onnx", "--input", "x=[[0.25, 0.75]]", "--json").out)["outputs"][
        "scores"
    ] == {
        "kind": "list",
        "values": [{"0": 0.25, "1": 0.75}],
    }
    tiny.save(tiny.text(), Path("text.onnx"))
    assert "x" not in hotlap("text.onnx", "--input", 'x=["a", "ä"]').out.splitlines()[1].split("first")[1]
    tiny.save(tiny.identity(), Path("same.onnx"))
    assert (
        "max 1  2 not finite  first 1 nan inf" in hotlap("same.onnx", "--input", "x=[1, NaN, Infinity]").out
    )
    assert json.loads(hotlap("same.onnx", "--input", "x=[NaN]", "--json").out)["outputs"]["y"]["min"] is None
    assert "y  float32[0]  empty" in hotlap("same.onnx", "--input", "x=[]").out


def test_a_terminal_does_not_obey_the_models_names_and_text(hotlap: Hotlap) -> None:
    evil = "\x1b[2J"
    model = tiny.model(
        [tiny.node("Identity", ["x"], [evil])],
        [tiny.info("x", onnx.TensorProto.STRING, ["n"])],
        [tiny.info(evil, onnx.TensorProto.STRING, ["n"])],
    )
    tiny.save(model, Path("evil.onnx"))
    done = hotlap(
        "evil.onnx", "--input", f'x=["{evil.encode("unicode_escape").decode().replace("x1b", "u001b")}"]'
    )
    assert done.code == 0
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["no.onnx"], 2, "no.onnx: no such file"),
        (["garbage.onnx"], 2, "garbage.onnx: not an ONNX file"),
        (["cut.onnx"], 2, "cut.onnx: the file is cut short: it has 2000 bytes of "),
        (["empty.onnx"], 2, "empty.onnx: the file is empty"),
        (["other.onnx"], 2, "other.onnx: ONNX Runtime does not load it: This is an invalid model."),
        (["model.onnx", "--providers", "cuba"], 2, 'unknown provider "cuba" (did you mean "cuda"?)'),
        (["model.onnx", "--providers", "xnnpack"], 3, "model.onnx: xnnpack not used: not compiled into"),
        (["model.onnx", "--threads", "0"], 2, "0 is not in the range"),
        (["model.onnx", "--spin", "maybe"], 2, "spin"),
        (["model.onnx", "--input", "x=huge.npy"], 2, "huge.npy: cut short: its header says"),
        (
            ["model.onnx", "--input", "x=[1, 2]"],
            2,
            'input "x": got 1 axes [2], expected 2: float32[batch, 16]',
        ),
        (
            ["model.onnx", "--input", "y=[1]", "--generate"],
            2,
            'input "y": the model has no input of that name',
        ),
        (["model.onnx", "--input", ROW, "--output", "model.onnx"], 2, "is a file"),
        (["model.onnx", "--input", ROW, "--output", "model.onnx/out"], 3, "not written"),
        (["broken.toml"], 2, "broken.toml"),
        (["wrong.toml"], 2, 'treads: unknown key (did you mean "threads"?)'),
        (["stale.toml"], 2, "model.onnx: this plan was made for another model: it says sha256:0000"),
    ],
)
def test_every_mistake_is_one_clear_line(hotlap: Hotlap, arguments: list[str], code: int, line: str) -> None:
    Path("garbage.onnx").write_bytes(b"hello world")
    Path("cut.onnx").write_bytes(tiny.mlp().SerializeToString()[:2000])
    Path("empty.onnx").write_bytes(b"")
    tiny.save(tiny.unknown_operator(), Path("other.onnx"))
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000, 1000)}\n"
    Path("huge.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    Path("broken.toml").write_text("threads = = 1")
    Path("wrong.toml").write_text("treads = 1")
    Plan(model=ModelRef(path="model.onnx", digest="sha256:" + "0" * 64)).save("stale.toml")
    before = sorted(Path().iterdir())
    done = hotlap(*arguments)
    assert done.code == code
    assert line in done.err
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert sorted(Path().iterdir()) == before
    as_json = hotlap(*arguments, "--json")
    assert as_json.code == code
    assert line in json.loads(as_json.out)["error"]


def test_falling_to_the_cpu_is_said_on_stderr(hotlap: Hotlap) -> None:
    done = hotlap("model.onnx", "--input", ROW, "--providers", "xnnpack, cpu", "--json")
    assert done.code == 0
    assert done.err.startswith("hotlap: model.onnx: xnnpack not used: not compiled into")
    assert json.loads(done.out)["notes"][0].startswith("xnnpack not used")


def test_warnings_of_onnxruntime_do_not_spoil_the_output(hotlap: Hotlap) -> None:
    tiny.save(tiny.unused_weight(), Path("unused.onnx"))
    assert hotlap("unused.onnx", "--generate").err == ""


def test_code_in_a_plan_is_refused_or_allowed_by_name(hotlap: Hotlap) -> None:
    ref = ModelRef(path="model.onnx", digest=file_digest(Path("model.onnx")))
    Plan(model=ref, custom_ops=("ops.so",)).save("plan.toml")
    assert 'loads code from "ops.so"' in hotlap("plan.toml", "--generate").err
    assert "does not load" in hotlap("plan.toml", "--generate", "--allow-custom-ops", "ops.so").err


def test_with_all_inputs_given_no_graph_library_is_loaded(tmp_path: Path) -> None:
    model = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    script = (
        "import sys; sys.modules['onnx'] = None\n"
        "from hotlap.cli import main\n"
        f"main(['run', {str(model)!r}, '--input', {ROW!r}])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "y  float32[1, 4]" in done.stdout

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T

from benchmarks.planted import planted, rounded_to_bfloat16
from hotlap.bench import save_feeds
from hotlap.cli import main
from hotlap.cli.verify import _walk_lines
from hotlap.verify import Walked
from tests import tiny
from tests.verify.test_optimisers import gelu


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tiny.save(tiny.mlp(), tmp_path / "a.onnx")
    rng = np.random.default_rng(0)
    save_feeds(tmp_path / "data", [{"x": rng.standard_normal((1, 16), np.float32)} for _ in range(64)])
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["verify", *arguments])
    return int(ended.value.code or 0)


def test_equal_models_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("a.onnx", "a.onnx", "--data", "data") == 0
    out = capsys.readouterr().out
    assert out.startswith("a.onnx against a.onnx\n")
    assert "agree: exact: every value is the same\n" in out
    assert "judged: 64 rows of 64 inputs, given\n" in out
    assert not list(Path().glob("*.worst.npz"))


def test_other_models_differ_and_the_worst_input_runs_again(capsys: pytest.CaptureFixture[str]) -> None:
    tiny.save(tiny.mlp(seed=1), Path("b.onnx"))
    assert run("a.onnx", "b.onnx", "--bisect") == 1
    out = capsys.readouterr().out
    for text in (
        "differ: exact: output",
        "; only 33 rows judged",
        "made to fit the signature",
        "to go on: give --data",
        "that input: b.worst.npz",
        'bisect: first Gemm "→ h", value "h"',
        'its input "w1": a weight: 512 of 512 values differ',
        "exact: 5x noise",
    ):
        assert text in out
    with pytest.raises(SystemExit) as ended:
        main(["run", "b.onnx", "--input", "b.worst.npz"])
    assert not ended.value.code


def test_where_the_worst_input_goes_can_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    tiny.save(tiny.mlp(seed=1), Path("b.onnx"))
    assert run("a.onnx", "b.onnx", "--no-save") == 1 and not Path("b.worst.npz").exists()
    assert run("a.onnx", "b.onnx", "--save-worst", "kept.npz") == 1 and Path("kept.npz").exists()
    assert run("a.onnx", "b.onnx", "--save-worst", "kept.npz", "--no-save") == 2
    assert run("a.onnx", "b.onnx", "--save-worst", "no/kept.npz") == 3
    assert "the folder does not exist" in capsys.readouterr().err


def test_what_would_be_ignored_is_wrong_usage(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "scoring.py").write_text("def right(feeds, outputs):\n    return 1.0\n")
    for words, said in (
        (["--data", "data", "--max-drop", "1%"], "--max-drop says how much a metric may drop"),
        (["--metric", "scoring:right", "--max-drop", "1%"], "a metric needs your data"),
        (["--level", "close"], '"close" judges on your data alone: give --data'),
    ):
        assert run("a.onnx", "a.onnx", *words) == 2
        assert said in " ".join(capsys.readouterr().err.split())


def test_another_signature_is_a_no_that_names_both(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tiny.mlp()
    made.graph.input[0].name = made.graph.node[0].input[0] = "z"
    tiny.save(made, here / "other.onnx")
    assert run("a.onnx", "other.onnx", "--no-save") == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "differ: exact: input 0 (x 1x16): the model does not take this feed" in said
    assert "['z']" in said and "(8 of 8 inputs are refused)" in said


def test_a_broken_file_is_named_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tiny.mlp()
    made.graph.node[0].input[1] = "nope"
    tiny.save(made, here / "broken.onnx")
    assert run(str(here / "broken.onnx"), "--no-save") == 2
    said = capsys.readouterr().err
    assert said.count("broken.onnx") == 1 and "'nope'" in said


def test_what_fails_of_a_model_alone_is_told_of_that_model(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_feeds(here / "odd", [{"z": np.zeros((1, 16), np.float32)}])
    assert run("a.onnx", "--data", "odd") == 2
    said = capsys.readouterr().err
    assert "a.onnx, not optimised: " in said and "noise" not in said


@pytest.mark.parametrize("level", ["exact", "close"])
def test_a_metric_judges_at_the_level_task_alone(
    here: Path, capsys: pytest.CaptureFixture[str], level: str
) -> None:
    metric_module(here)
    asked = ["--data", "data", "--metric", "my_metric:right", "--max-drop", "1%", "--level", level]
    assert run("a.onnx", "a.onnx", *asked) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f'a metric is for the gate "task", and "{level}" would not ask it: leave one out' in said


def test_reduced_precision_is_close_and_json_holds_everything(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted(here / "a.onnx", here / "half.onnx", rounded_to_bfloat16)
    assert run("a.onnx", "half.onnx", "--data", "data", "--no-save") == 1
    assert 'to go on: it is "close": allow that level' in capsys.readouterr().out
    assert run("a.onnx", "half.onnx", "--data", "data", "--level", "close", "--scores", "y:-1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    (output,) = found["verdict"]["outputs"]
    assert output["top1"] == 1.0 and output["top5"] is None
    assert output["cosine"] > 0.9999 and 0 < output["mean_abs"] < output["max_abs"]
    assert found["verdict"]["rows"] == 64 and found["candidate"] == "half.onnx"


def test_masks_on_both_sides_are_no_difference_to_look_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = [tiny.info("x", T.FLOAT, [1, 2])], [tiny.info("y", T.FLOAT, [1, 2])]
    mask = {"mask": np.array([[0, -np.inf]], np.float32)}
    tiny.save(tiny.model([tiny.node("Add", ["x", "mask"], ["y"])], *ends, mask), here / "mask.onnx")
    assert run("mask.onnx", "mask.onnx", "--bisect") == 0
    out = capsys.readouterr().out
    assert "bisect: no node makes NaN or +infinity; -infinity is how masks are written (1 of 1 values" in out
    assert "differs" not in out


def test_an_input_that_a_side_refuses_is_named_and_left_out(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixed = tiny.mlp(seed=1)
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    tiny.save(fixed, here / "fixed.onnx")
    assert run("a.onnx", "fixed.onnx", "--data", "data", "--no-save", "--bisect") == 1
    out = capsys.readouterr().out
    assert "differ: exact: input 0 (x 1x16)" in out
    assert "bisect: there is no input to compare the nodes on (0 of 3 values looked at)" in out
    assert '  without input 0: fixed.onnx: input "x": axis 0 has size 1, expected 2' in out


@pytest.mark.parametrize("by", ["name", ""])
def test_where_every_value_was_skipped_nothing_is_said_of_the_nodes(by: str) -> None:
    (said,) = _walk_lines(Walked(found=None, compared=0, values=3, by=by, skipped=("a", "b", "c")))
    assert said == "bisect: nothing could be looked at (0 of 3 values looked at)"


def test_a_callable_has_no_nodes_and_its_verdict_is_told_all_the_same(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "twice.py").write_text("def predict(feed):\n    return {'y': feed['x'][:, :4] * 2}\n")
    assert run("a.onnx", "twice:predict", "--data", "data", "--no-save", "--bisect") == 1
    out = capsys.readouterr().out
    assert "differ: exact: output" in out
    assert "cause: not found: twice:predict: a Python callable has no nodes" in out


def metric_module(here: Path) -> None:
    (here / "my_metric.py").write_text(
        "import numpy as np\n"
        "def right(feeds, outputs, labels):\n"
        "    return np.array([o['y'].argmax() == int(k) for o, k in zip(outputs, labels)])\n"
    )


def test_a_metric_decides_with_its_interval(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metric_module(here)
    np.save(here / "labels.npy", np.random.default_rng(1).integers(0, 4, 64))
    planted(here / "a.onnx", here / "half.onnx", rounded_to_bfloat16)
    tiny.save(tiny.mlp(seed=1), here / "b.onnx")
    asked = ["--data", "data", "--metric", "my_metric:right", "--labels", "labels.npy", "--no-save"]
    assert run("a.onnx", "half.onnx", *asked, "--max-drop", "10%") == 0
    assert "agree: task: the metric went from" in capsys.readouterr().out
    assert run("a.onnx", "half.onnx", *asked, "--max-drop", "0.5%") == 2
    out = capsys.readouterr().out
    assert "undecided: task: it cannot tell" in out and "to go on: give more data: about" in out
    assert run("a.onnx", "b.onnx", *asked, "--max-drop", "0.01") in (1, 2)
    assert run("no such model.onnx", "b.onnx", *asked) == 2
    assert "how much may the metric drop" in capsys.readouterr().err  # told before anything is loaded
    assert run("a.onnx", "b.onnx", "--labels", "labels.npy") == 2


def test_a_callable_and_a_source_of_inputs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "own_net.py").write_text(
        "import numpy as np, onnxruntime\n"
        "session = onnxruntime.InferenceSession('a.onnx')\n"
        "def predict(feed):\n    return session.run(None, feed)\n"
        "def inputs():\n"
        "    for n in range(70):\n"
        "        yield {'x': np.random.default_rng(n).standard_normal((1, 16)).astype(np.float32)}\n"
    )
    assert run("a.onnx", "own_net:predict", "--data", "own_net:inputs") == 0
    assert "judged: 70 rows of 70 inputs, given" in capsys.readouterr().out
    assert run("own_net:predict", "a.onnx") == 0


def test_parquet(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pa: Any = pytest.importorskip("pyarrow", exc_type=ImportError)
    import pyarrow.parquet as pq

    metric_module(here)
    rows = np.random.default_rng(0).standard_normal((80, 16)).astype(np.float32)
    columns = {"x": pa.FixedSizeListArray.from_arrays(rows.ravel(), 16), "label": list(range(80))}
    pq.write_table(pa.table(columns), here / "data.parquet")
    asked = ["--data", "data.parquet", "--metric", "my_metric:right", "--labels", "label", "--max-drop", "1%"]
    assert run("a.onnx", "a.onnx", *asked) == 0
    assert "80 inputs" in capsys.readouterr().out


def test_a_model_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("a.onnx") == 0
    assert "a.onnx against a.onnx, not optimised" in capsys.readouterr().out
    (here / "plan.toml").write_text(
        "format = 1\n[model]\n"
        f'path = "{gelu(here).name}"\ndigest = "{_digest(here / "gelu.onnx")}"\n'
        '[session]\n"optimization.enable_gelu_approximation" = true\n'
    )
    assert run("plan.toml", "--no-save") == 1
    assert "optimiser: without GeluApproximation the answers agree" in capsys.readouterr().out


def _digest(path: Path) -> str:
    from hotlap.runtime import file_digest

    return file_digest(path)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["none.onnx", "a.onnx"], 2, "none.onnx"),
        (["a.onnx", "a.onnx", "--data", "none"], 2, "no such file or folder"),
        (["a.onnx", "a.onnx", "--data", "data", "--scores", "z:-1"], 2, 'no output "z"'),
        (["a.onnx", "a.onnx", "--data", "data", "--boxes", "y:xyz"], 2, 'no form "xyz"'),
        (["a.onnx", "a.onnx", "--data", "data", "--boxes", "y"], 0, ""),
        ([], 2, "REFERENCE"),
    ],
)
def test_wrong_usage_is_one_clear_line(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == code
    err = capsys.readouterr().err
    assert said in err and err.count("\n") <= 1


def test_nothing_that_is_read_is_written_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.save(tiny.mlp(seed=1), Path("b.onnx"))
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    for place, told in (
        ("a.onnx", 'name a file that ends in ".npz"'),
        ("data/000000.npz", "is what is read here"),
    ):
        assert run("a.onnx", "b.onnx", "--data", "data", "--save-worst", place) == 2
        assert told in capsys.readouterr().err
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_two_files_of_one_name_are_told_by_their_folders(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "other").mkdir()
    tiny.save(tiny.mlp(), here / "other" / "a.onnx")
    assert run("a.onnx", "other/a.onnx") == 0
    assert capsys.readouterr().out.startswith("other/a.onnx against a.onnx\n")

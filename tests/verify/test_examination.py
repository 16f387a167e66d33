from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import numpy_helper

from hotlap.bench import Target, load_feeds
from hotlap.errors import StorageError, TargetFailed, UsageError
from hotlap.verify import examine
from hotlap.verify.optimisers import optimised
from tests import tiny
from tests.real import real
from tests.verify.classifiers import unzipped, zipped
from tests.verify.test_optimisers import gelu


@pytest.fixture
def mlp(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "mlp.onnx")


def rare(tmp_path: Path) -> Path:
    """The `mlp`, wrong for inputs whose first number is above 2.5: one in two hundred or so."""
    model = tiny.mlp()
    model.graph.node[2].output[0] = "plain"
    model.graph.node.extend(
        [
            tiny.node("Slice", ["x", "from", "to", "axis"], ["first"]),
            tiny.node("Greater", ["first", "edge"], ["over"]),
            tiny.node("Cast", ["over"], ["off"], to=T.FLOAT),
            tiny.node("Add", ["plain", "off"], ["y"]),
        ]
    )
    extra = {"from": [0], "to": [1], "axis": [1], "edge": np.float32(2.5)}
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in extra.items())
    return tiny.save(model, tmp_path / "rare.onnx")


def test_one_wrong_input_among_two_hundred_is_found_and_kept(mlp: Path, tmp_path: Path) -> None:
    feeds = [{"x": np.random.default_rng(n).uniform(-1, 1, (1, 16)).astype(np.float32)} for n in range(200)]
    feeds[137]["x"][0, 0] = 3
    kept = tmp_path / "worst.npz"
    found = examine(Target.default(mlp), Target.default(rare(tmp_path)), feeds, save_worst=kept, walk=True)
    assert not found.verdict.passed and found.verdict.worst_input == 137 and found.saved == str(kept)
    (again,) = load_feeds(kept)
    assert np.array_equal(again["x"], feeds[137]["x"])
    assert found.walked is not None and found.walked.found is not None
    assert (found.walked.found.value, found.walked.found.input) == ("y", 137)


def test_where_the_answer_is_yes_nothing_is_kept(mlp: Path, tmp_path: Path) -> None:
    found = examine(Target.default(mlp), Target.default(mlp), save_worst=tmp_path / "w.npz", walk=True)
    assert found.verdict.passed and found.saved is None and found.walked is None and found.blame is None
    assert not (tmp_path / "w.npz").exists()


def test_a_place_that_cannot_be_written_is_said_before_the_work(mlp: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="the folder does not exist"):
        examine(Target.default(tmp_path / "none.onnx"), None, save_worst=tmp_path / "no" / "w.npz")


def test_a_model_alone_is_compared_with_itself_not_optimised(mlp: Path, tmp_path: Path) -> None:
    found = examine(Target.default(mlp, label="mine"))
    assert found.verdict.passed and found.reference == "mine, not optimised"
    wrong = optimised(Target.default(gelu(tmp_path)), **{"optimization.enable_gelu_approximation": True})
    blamed = examine(wrong).blame
    assert blamed is not None and blamed.optimisers == ("GeluApproximation",)
    with pytest.raises(UsageError, match="a callable alone"):
        examine(Target.calling("a:b"))


def test_nan_on_both_sides_is_equal_and_its_first_node_is_named(tmp_path: Path) -> None:
    nodes = [tiny.node("Log", ["x"], ["log"]), tiny.node("Abs", ["log"], ["y"])]
    values = [tiny.info(name, T.FLOAT, ["N", 4]) for name in ("x", "y")]
    path = tiny.save(tiny.model(nodes, values[:1], values[1:]), tmp_path / "log.onnx")
    data = [{"x": np.array([[1, 2, -1, 3]], np.float32)}]
    found = examine(Target.default(path), Target.default(path), data, walk=True)
    assert found.verdict.passed and found.verdict.outputs[0].not_finite == 1
    assert found.verdict.notes[0] == ('output "y": 1 of 4 values are the same NaN or infinity on both sides')
    assert found.walked is not None and found.walked.found is not None
    assert found.walked.found.node == 'Log "→ log"'


def test_a_candidate_that_refuses_the_worst_input_is_walked_on_another(mlp: Path, tmp_path: Path) -> None:
    fixed = tiny.mlp(seed=1)
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    single = Target.default(tiny.save(fixed, tmp_path / "single.onnx"), label="single")
    data = [{"x": np.full((size, 16), size, np.float32)} for size in (1, 3)]
    found = examine(Target.default(mlp), single, data, walk=True)
    assert found.verdict.worst_input == 1 and found.walked is not None and found.unexplained == ""
    assert found.walked.refused == (1,) and found.walked.why_refused.startswith('single: input "x": axis 0')
    assert found.walked.found is not None and (found.walked.found.value, found.walked.found.input) == ("h", 0)
    none = examine(Target.default(mlp), single, data[1:], walk=True).walked
    assert none is not None and (none.found, none.compared, none.refused) == (None, 0, (0,))


def test_the_verdict_is_there_though_the_search_for_its_cause_fails(
    mlp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*arguments: Any) -> Any:
        raise TargetFailed("mlp, walked through: no answer within 600 s")

    other = Target.default(tiny.save(tiny.mlp(seed=1), tmp_path / "other.onnx"))
    monkeypatch.setattr("hotlap.verify.examination.bisect", failing)
    found = examine(Target.default(mlp), other, walk=True)
    assert not found.verdict.passed and found.walked is None
    assert found.unexplained == "mlp, walked through: no answer within 600 s"
    monkeypatch.setattr("hotlap.verify.examination.blame", failing)
    approximate = optimised(
        Target.default(gelu(tmp_path)), **{"optimization.enable_gelu_approximation": True}
    )
    alone = examine(approximate)
    assert not alone.verdict.passed and alone.blame is None and "no answer within" in alone.unexplained


@pytest.mark.parametrize("labels", [(0, 1), (1, 0)])
def test_a_classifier_agrees_with_itself_without_its_maps(labels: tuple[int, ...], tmp_path: Path) -> None:
    maps = Target.default(tiny.save(zipped(*labels), tmp_path / "maps.onnx"))
    plain = Target.default(tiny.save(unzipped(), tmp_path / "plain.onnx"))
    assert examine(maps, plain).verdict.passed and examine(plain, maps).verdict.passed
    wrong = Target.default(tiny.save(unzipped(1, 0), tmp_path / "wrong.onnx"))
    assert not examine(maps, wrong).verdict.passed


def test_columns_of_which_nobody_tells_are_said(tmp_path: Path) -> None:
    (tmp_path / "gives.py").write_text(
        "def maps(feed):\n"
        "    label = feed['x'].argmax(1)\n"
        "    return {'label': label, 'scores': [dict(enumerate(map(float, row))) for row in feed['x']]}\n"
    )
    plain = Target.default(tiny.save(unzipped(), tmp_path / "plain.onnx"))
    verdict = examine(plain, Target.calling("gives:maps", folder=tmp_path)).verdict
    assert verdict.passed and any("neither file says which column" in note for note in verdict.notes)


def test_denormal_weights_may_be_flushed(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)
    weights[::2] = 1e-39
    flushed = np.where(np.abs(weights) < np.finfo(np.float32).smallest_normal, 0, weights)

    def model(w: Any, name: str) -> Target:
        node = tiny.node("MatMul", ["x", "w"], ["y"])
        ends = [tiny.info("x", T.FLOAT, ["N", 16])], [tiny.info("y", T.FLOAT, ["N", 4])]
        return Target.default(tiny.save(tiny.model([node], *ends, {"w": w}), tmp_path / name))

    assert examine(model(weights, "denormal.onnx"), model(flushed, "flushed.onnx")).verdict.passed


def test_a_file_that_onnx_runtime_optimised_agrees_and_is_walked_by_name(tmp_path: Path) -> None:
    import onnxruntime

    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    onnxruntime.InferenceSession(str(path), options)
    fused = Target.default(tmp_path / "optimised.onnx")
    assert examine(Target.default(path), fused).verdict.passed


def test_a_model_that_is_too_new_is_one_clear_line(mlp: Path, tmp_path: Path) -> None:
    new = tiny.mlp()
    new.opset_import[0].version = 99
    with pytest.raises(TargetFailed, match=r"(?i)opset") as failure:
        examine(Target.default(mlp), Target.default(tiny.save(new, tmp_path / "new.onnx"), label="new"))
    assert "\n" not in str(failure.value)


def test_half_precision_on_the_cpu_says_nothing_of_a_gpu(tmp_path: Path) -> None:
    """The CPU provider computes such a net in float32, where large numbers do not overflow."""
    nodes = [
        tiny.node("Cast", ["x"], ["half"], to=T.FLOAT16),
        tiny.node("Mul", ["half", "half"], ["square"]),
        tiny.node("Cast", ["square"], ["y"], to=T.FLOAT),
    ]
    values = [tiny.info(name, T.FLOAT, ["N", 4]) for name in ("x", "y")]
    half = Target.default(tiny.save(tiny.model(nodes, values[:1], values[1:]), tmp_path / "half.onnx"))
    found = examine(half, half).verdict
    assert found.passed and found.notes[-1].endswith("a run on the CPU says nothing of a GPU")
    plain = Target.default(tiny.save(tiny.add(), tmp_path / "plain.onnx"))
    assert examine(plain, plain).verdict.notes == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ocr-cls", "magika", "captcha"])
def test_optimising_real_models_changes_nothing(name: str) -> None:
    found = examine(Target.default(real(name).path.resolve()))
    assert found.verdict.passed and found.verdict.generated, found.verdict.reason

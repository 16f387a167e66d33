from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from onnx import TensorProto as T

from benchmarks.planted import (
    all_off_by_a_thousandth,
    one_off_by_a_thousandth,
    planned,
    planted,
    rounded_to_bfloat16,
    weights,
)
from hotlap.bench import Target
from hotlap.errors import TargetFailed
from hotlap.verify import Reference, Verdict, verify
from tests import tiny
from tests.real import real


@pytest.fixture
def mlp(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "mlp.onnx")


def inputs(count: int = 64) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [{"x": rng.standard_normal((1, 16), np.float32)} for _ in range(count)]


def test_the_same_model_is_exact_on_generated_inputs(mlp: Path) -> None:
    verdict = verify(Target.default(mlp), planned(mlp, threads=1))
    assert verdict.passed and verdict.generated and verdict.unlock is None
    assert verdict.reason == "exact: every value is the same; only 33 rows judged"
    assert [d.name for d in verdict.outputs] == ["y"]


def test_generated_inputs_judge_exactly_whatever_is_asked(mlp: Path, tmp_path: Path) -> None:
    rounded = planted(mlp, tmp_path / "bf16.onnx", rounded_to_bfloat16)
    verdict = verify(Target.default(mlp), planned(rounded), level="close")
    assert (verdict.level, verdict.passed) == ("exact", False)
    assert verdict.unlock == "give --data to have it judged on your inputs"
    assert "became" in verdict.worst


def test_with_data_reduced_precision_is_refused_exactly_and_accepted_closely(
    mlp: Path, tmp_path: Path
) -> None:
    rounded = planned(planted(mlp, tmp_path / "bf16.onnx", rounded_to_bfloat16))
    with Reference(Target.default(mlp), inputs(), scores={"y": -1}) as reference:
        exact = reference.judge(rounded, "exact")
        close = reference.judge(rounded, "close")
    assert not exact.passed and exact.unlock == 'it is "close": allow that level'
    assert close.passed and "the same first place on 64 of 64 rows" in close.reason
    assert close.rows == 64 and "only" not in close.reason
    assert close.outputs[0].noise is not None and 0 < close.outputs[0].noise.rms < 1e-6


def test_a_task_is_judged_by_its_metric_alone(mlp: Path, tmp_path: Path) -> None:
    rounded = planned(planted(mlp, tmp_path / "bf16.onnx", rounded_to_bfloat16))

    def mean(feeds: Any, outputs: Any) -> float:
        assert len(feeds) == len(outputs) == 64
        return float(np.mean([o["y"].mean() for o in outputs]))

    with Reference(Target.default(mlp), inputs(), metric=mean, max_drop=1.0) as reference:

        def dropped(most: float) -> Verdict:
            reference.max_drop = most
            return reference.judge(rounded, "task")

        loose, verdict, tight = (dropped(most) for most in (1.0, -1.0, 1e-9))
    assert loose.passed
    assert not verdict.passed and not verdict.undecided and "the metric went from" in verdict.reason
    assert verdict.score is not None and verdict.score == pytest.approx(verdict.reference_score, abs=0.05)
    assert verdict.change is not None and verdict.change.per == "input" and verdict.change.count == 64
    assert tight.undecided and not tight.passed and "it cannot tell" in tight.reason
    assert tight.unlock is not None and tight.unlock.startswith("give more data: about ")


def test_one_input_decides_no_task_but_the_same_answers_pass(mlp: Path, tmp_path: Path) -> None:
    rounded = planned(planted(mlp, tmp_path / "bf16.onnx", rounded_to_bfloat16))

    def mean(feeds: Any, outputs: Any) -> float:
        return float(np.mean([o["y"].mean() for o in outputs]))

    with Reference(Target.default(mlp), inputs(1), metric=mean, max_drop=1.0) as reference:
        apart, same = (reference.judge(one, "task") for one in (rounded, planned(mlp, threads=1)))
    assert apart.undecided and not apart.passed and "no interval" in apart.reason
    assert same.passed
    back = msgspec.json.decode(msgspec.json.encode(same), type=Verdict)
    assert back == same, "a passed verdict is kept beside the plan that it is about"


def test_labels_reach_the_metric_and_rows_have_scores_of_their_own(mlp: Path) -> None:
    feeds = [{"x": np.random.default_rng(n).standard_normal((4, 16), np.float32)} for n in range(30)]
    labels = np.random.default_rng(1).integers(0, 4, 120)

    def right(given: Any, outputs: Any, known: Any) -> Any:
        return np.concatenate([o["y"].argmax(-1) == k for o, k in zip(outputs, known, strict=True)])

    other = tiny.save(tiny.mlp(seed=1), mlp.with_name("other.onnx"))
    with Reference(Target.default(mlp), feeds, metric=right, max_drop=0.001, labels=labels) as reference:
        same = reference.judge(planned(mlp, threads=1), "task")
        apart = reference.judge(planned(other), "task")
    assert same.passed and "the answers agree within the model's own noise" in same.reason
    assert same.change is not None and (same.change.count, same.change.per) == (120, "row")
    assert apart.change is not None and apart.change.changed
    assert not apart.passed


def test_a_shape_that_the_candidate_does_not_take_is_a_no_with_the_shape(mlp: Path, tmp_path: Path) -> None:
    fixed = tiny.mlp()
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    other = tiny.save(fixed, tmp_path / "fixed.onnx")
    verdict = verify(Target.default(mlp), Target.default(other))
    assert not verdict.passed and verdict.worst_input == 1
    assert verdict.reason.startswith("exact: input 1 (x 2x16): the model does not take this feed")
    assert "(4 of 8 inputs are refused)" in verdict.reason


def test_a_fault_that_shows_at_one_batch_size_alone_is_found(tmp_path: Path) -> None:
    nodes = [
        tiny.node("Shape", ["x"], ["s"], start=0, end=1),
        tiny.node("Cast", ["s"], ["n"], to=T.FLOAT),
        tiny.node("Equal", ["n", "three"], ["at"]),
        tiny.node("Cast", ["at"], ["off"], to=T.FLOAT),
        tiny.node("Add", ["x", "off"], ["y"]),
    ]
    values = [tiny.info(name, T.FLOAT, ["N", 4]) for name in ("x", "y")]
    weights = {"three": np.array([3], np.float32)}
    odd = tiny.save(tiny.model(nodes, values[:1], values[1:], weights), tmp_path / "odd.onnx")
    plain = tiny.save(tiny.identity(T.FLOAT, ("N", 4)), tmp_path / "plain.onnx")
    verdict = verify(Target.default(plain), Target.default(odd))
    assert not verdict.passed and verdict.worst_input == 2 and "of input 2:" in verdict.worst
    with Reference(Target.default(plain)) as reference:
        assert reference.feed(2)["x"].shape == (3, 4)


def test_a_reference_that_answers_zero_alone_is_not_matched_by_just_anything(tmp_path: Path) -> None:
    ends = [tiny.info("x", T.FLOAT, ["N", 4])], [tiny.info("y", T.FLOAT, ["N", 4])]
    nodes = [tiny.node("Mul", ["x", "zero"], ["y"])]
    zeros = tiny.save(tiny.model(nodes, *ends, {"zero": np.float32(0)}), tmp_path / "zeros.onnx")
    other = tiny.save(tiny.identity(T.FLOAT, ("N", 4)), tmp_path / "other.onnx")
    verdict = verify(Target.default(zeros), Target.default(other))
    assert not verdict.passed and 'output "y" is 0 throughout' in verdict.reason
    assert verify(Target.default(zeros), planned(zeros, threads=1)).passed


@pytest.mark.parametrize("level", ["exact", "close", "task"])
def test_a_shape_that_hangs_on_a_last_bit_is_forgiven_at_every_level(tmp_path: Path, level: str) -> None:
    def above(op: str) -> Target:
        """The values above 1, as a detector gives the boxes above a score."""
        nodes = [tiny.node(op, ["x", "one"], ["over"]), tiny.node("Compress", ["x", "over"], ["y"])]
        ends = [tiny.info("x", T.FLOAT, ["N"])], [tiny.info("y", T.FLOAT, ["M"])]
        built = tiny.model(nodes, *ends, {"one": np.float32(1)})
        return Target.default(tiny.save(built, tmp_path / f"{op}.onnx"))

    edge = [{"x": np.ones(64, np.float32)} for _ in range(8)]
    metric: dict[str, Any] = {"metric": lambda f, o: np.ones(len(f)), "max_drop": 1.0}
    settings = metric if level == "task" else {}
    verdict = verify(above("Greater"), above("GreaterOrEqual"), edge, level, **settings)
    assert verdict.passed, verdict.reason
    clear = [{"x": np.array([0, 0.5, 2], np.float32)} for _ in range(8)]
    verdict = verify(above("Greater"), above("Less"), clear, level, **settings)
    assert not verdict.passed and "float32[1] became float32[2]" in verdict.reason


def test_a_candidate_that_cannot_run_fails_as_a_target(mlp: Path, tmp_path: Path) -> None:
    with pytest.raises(TargetFailed, match=r"gone: .*no\.onnx"):
        verify(Target.default(mlp), Target.default(tmp_path / "no.onnx", label="gone"), inputs(2))


def test_a_model_that_draws_at_random_has_no_answer(tmp_path: Path) -> None:
    nodes = [
        tiny.node("RandomNormalLike", ["x"], ["r"]),
        tiny.node("Add", ["x", "r"], ["y"]),
    ]
    values = [tiny.info(name, T.FLOAT, ["N", 16]) for name in ("x", "y")]
    path = tiny.save(tiny.model(nodes, values[:1], values[1:]), tmp_path / "random.onnx")
    verdict = verify(Target.default(path), planned(path), inputs(4))
    assert not verdict.passed
    assert verdict.reason == (
        'exact: the model differs from itself between equal runs (output "y"); only 4 rows judged'
    )


@pytest.mark.parametrize("maker", [tiny.text, tiny.scalar, tiny.zipmap, tiny.sequence])
def test_outputs_of_every_kind_agree_with_themselves(tmp_path: Path, maker: Any) -> None:
    path = tiny.save(maker(), tmp_path / "model.onnx")
    feeds = {
        "text": [{"x": np.array(["one", "two"])}],
        "scalar": [{"x": np.array(1.5, np.float32)}],
    }.get(maker.__name__, [{"x": np.array([[0.2, 0.8], [0.7, 0.3]], np.float32)}])
    verdict = verify(Target.default(path), planned(path, threads=1), feeds)
    assert verdict.passed and "every value is the same" in verdict.reason


def test_another_model_is_found_out(mlp: Path, tmp_path: Path) -> None:
    other = tiny.save(tiny.mlp(seed=1), tmp_path / "other.onnx")
    verdict = verify(Target.default(mlp), planned(other), inputs(), "close")
    assert not verdict.passed and verdict.unlock == 'judge it by your own metric, the level "task"'
    fewer = tiny.save(tiny.mlp(classes=3), tmp_path / "fewer.onnx")
    shorter = verify(Target.default(mlp), planned(fewer), inputs(1), "close")
    assert "float32[1, 4] became float32[1, 3]" in shorter.reason and not shorter.passed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ocr-cls", "silero", "captcha", "minilm-int8"])
def test_on_real_models_the_noise_passes_and_planted_errors_do_not(name: str, tmp_path: Path) -> None:
    model = real(name)
    middle = weights(model.path)[len(weights(model.path)) // 2]
    one = planted(model.path, tmp_path / "one.onnx", one_off_by_a_thousandth, only=middle)
    tensor = planted(model.path, tmp_path / "tensor.onnx", all_off_by_a_thousandth, only=middle)
    rounded = planted(model.path, tmp_path / "bf16.onnx", rounded_to_bfloat16)
    with Reference(Target.default(model.path), model.feeds(24), scores=model.scores) as reference:
        for settings in ({"threads": 1}, {"session": {"graph_optimization_level": "ORT_ENABLE_BASIC"}}):
            verdict = reference.judge(planned(model.path, **settings), "exact")
            assert verdict.passed, verdict.reason
        for wrong in (planned(file) for file in (one, rounded, tensor)):
            verdict = reference.judge(wrong, "exact")
            assert not verdict.passed, f"{wrong.label}: {verdict.reason}"
        assert all(d.within > 0.999 for d in reference.judge(wrong, "close").outputs)  # of its kept answers


def test_a_candidate_that_hangs_is_ended(mlp: Path) -> None:
    with Reference(Target.default(mlp), inputs(2)) as reference:
        reference._timeout, reference.seconds = 0.02, 0.0
        with pytest.raises(TargetFailed, match=r"slow: no answer within 0\.02 s"):
            reference.judge(planned(mlp, label="slow"), "exact")


def test_a_candidate_that_crashes_says_how_and_the_next_is_judged(
    mlp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "crashing.py").write_text("import os\nos.abort()\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    with Reference(Target.default(mlp), inputs(2)) as reference:
        with monkeypatch.context() as patch:
            patch.setattr("hotlap.verify.sides.CHILD", "crashing")
            with pytest.raises(TargetFailed, match=r"wild: the process (crashed|ended)"):
                reference.judge(planned(mlp, label="wild"))
        assert reference.judge(planned(mlp, label="tame")).passed


def test_slow_models_are_calibrated_on_fewer_inputs_and_the_verdict_says_so(mlp: Path) -> None:
    with Reference(Target.default(mlp), inputs(64), noise_seconds=1e-9) as reference:
        verdict = reference.judge(planned(mlp, threads=1))
    assert verdict.passed and verdict.notes == ("the noise was measured on 8 of 64 inputs",)


def test_the_answers_are_gone_when_the_block_ends(mlp: Path) -> None:
    with Reference(Target.default(mlp), inputs(2)) as reference:
        home = reference._sides.home
        assert home.is_dir()
    assert not home.exists()

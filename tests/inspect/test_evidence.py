from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.bench import save_feeds
from hotlap.errors import InputError, UsageError
from hotlap.inspect import evidence
from hotlap.inspect.evidence import Evidence, gather
from hotlap.model import Model
from tests import tiny

ROOT = Path(__file__).parents[2]


def gathered(model: onnx.ModelProto, folder: Path, **options: object) -> Evidence:
    path = tiny.save(model, folder / "m.onnx")
    return gather(Model.load(path), **options)  # type: ignore[arg-type]


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(evidence, "CHILD", "tests.inspect.dying")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT}")
    return monkeypatch


def test_a_model_is_loaded_placed_probed_and_read_back_as_it_runs(tmp_path: Path) -> None:
    seen = gathered(tiny.mlp(), tmp_path)
    assert seen.unknown == ()
    ran = seen.ran
    assert ran is not None
    assert (ran.refusal, ran.failure, ran.copies, ran.data) == ("", "", 0, "generated")
    assert ran.placement == {"cpu": ("Gemm", "Relu", "Gemm")}
    assert ran.executed is not None
    assert [node.op for node in ran.executed.nodes()] == ["com.microsoft.FusedGemm", "Gemm"]
    assert ran.facts is not None and ran.facts.rows == "independent"
    assert ran.ranges == {}, "nobody asked"


def test_a_model_that_is_refused_says_why_and_nothing_else_is_tried(tmp_path: Path) -> None:
    ran = gathered(tiny.unknown_operator(), tmp_path).ran
    assert ran is not None
    assert "No opset import for domain 'example.com'" in ran.refusal
    assert str(tmp_path) not in ran.refusal
    assert (ran.facts, ran.executed, ran.placement) == (None, None, {})


def test_a_provider_that_does_not_load_is_told_and_the_cpu_steps_in(tmp_path: Path) -> None:
    ran = gathered(tiny.mlp(), tmp_path, providers=["tensorrt"]).ran
    assert ran is not None
    assert set(ran.provider_refusals) == {"tensorrt"}
    assert set(ran.placement) == {"cpu"}


def test_the_users_inputs_are_run(tmp_path: Path) -> None:
    feeds = [{"x": np.ones((2, 16), np.float32)}]
    ran = gathered(tiny.mlp(), tmp_path, data=feeds).ran
    assert ran is not None and (ran.data, ran.failure) == ("yours", "")
    folder = save_feeds(tmp_path / "feeds", [{"x": np.ones((2, 9), np.float32)}])
    ran = gathered(tiny.mlp(), tmp_path, data=folder).ran
    assert ran is not None and "9" in ran.failure


def test_inputs_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        gathered(tiny.mlp(), tmp_path, data=tmp_path / "none.npz")
    with pytest.raises(UsageError, match="holds no input"):
        gathered(tiny.mlp(), tmp_path, data=[])
    (tmp_path / "broken.npz").write_bytes(b"x")
    with pytest.raises(InputError):
        gathered(tiny.mlp(), tmp_path, data=tmp_path / "broken.npz")


def test_ranges_are_measured_in_float32(tmp_path: Path) -> None:
    built = tiny.model(
        [tiny.node("Mul", ["x", "x"], ["square"]), tiny.node("Sqrt", ["square"], ["y"])],
        [tiny.info("x", T.FLOAT16, ["N", 4])],
        [tiny.info("y", T.FLOAT16, ["N", 4])],
    )
    feeds = [{"x": np.full((1, 4), 300, np.float16)}]
    seen = gathered(built, tmp_path, data=feeds, ranges=True)
    assert seen.ran is not None
    assert seen.ran.ranges["square"].high == 90_000, "beyond half precision"
    assert seen.ran.ranges["y"].high == 300


def test_a_crash_while_loading_is_the_refusal(tmp_path: Path, dying: pytest.MonkeyPatch) -> None:
    dying.setenv("HOTLAP_TEST_DYING", "load:abort")
    ran = gathered(tiny.mlp(), tmp_path).ran
    assert ran is not None
    assert ran.refusal.startswith("the process crashed (SIGABRT)")


def test_a_crash_while_probing_leaves_what_comes_before_and_after(
    tmp_path: Path, dying: pytest.MonkeyPatch
) -> None:
    dying.setenv("HOTLAP_TEST_DYING", "probe:abort")
    seen = gathered(tiny.mlp(), tmp_path)
    assert seen.ran is not None
    assert seen.ran.failure.startswith("the process crashed (SIGABRT)")
    assert len(seen.ran.placement["cpu"]) == 3
    assert seen.ran.executed is not None
    assert seen.unknown[0].startswith("what running shows: the process crashed (SIGABRT)")


def test_a_crash_behind_the_probe_leaves_its_facts(tmp_path: Path, dying: pytest.MonkeyPatch) -> None:
    dying.setenv("HOTLAP_TEST_DYING", "executed:exit")
    seen = gathered(tiny.mlp(), tmp_path)
    assert seen.ran is not None
    assert (seen.ran.executed, seen.ran.failure) == (None, "")
    assert seen.ran.facts is not None
    assert seen.unknown == ("the graph that is executed: the process ended with code 7 and no result",)


def test_a_process_that_hangs_is_ended(tmp_path: Path, dying: pytest.MonkeyPatch) -> None:
    dying.setenv("HOTLAP_TEST_DYING", "load:hang")
    ran = gathered(tiny.mlp(), tmp_path, timeout=1.5).ran
    assert ran is not None
    assert ran.refusal == "no answer within 1.5 s, so it was ended"


def test_what_is_too_large_is_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "MOST_RANGED", 10)
    monkeypatch.setattr(evidence.shutil, "disk_usage", lambda path: type("Free", (), {"free": 10}))
    unknown: list[str] = []
    model = Model.load(tiny.save(tiny.mlp(), tmp_path / "m.onnx"))
    assert evidence.stages_of(model, True, tmp_path, unknown) == ["load", "probe"]
    assert [line.partition(":")[0] for line in unknown] == ["the graph that is executed", "ranges of values"]


def test_weights_apart_are_not_needed_to_read_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "APART", 0)
    ran = gathered(tiny.mlp(features=64, hidden=64), tmp_path).ran
    assert ran is not None and ran.executed is not None
    assert ran.executed.root.weights["w1"].data_location == T.EXTERNAL

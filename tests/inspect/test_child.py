from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from hotlap.errors import MissingExtra
from hotlap.inspect import child
from hotlap.inspect.child import answer
from hotlap.inspect.stages import EXECUTED, NOW, WEIGHTS, Answer, Request, Stage, read_answer
from tests import tiny


def request(model: onnx.ModelProto, folder: Path, *stages: Stage, **options: object) -> Request:
    path = tiny.save(model, folder / "m.onnx")
    return Request(
        model=str(path), providers=["cpu"], stages=list(stages), folder=str(folder), outcome="", **options
    )  # type: ignore[arg-type]


def test_each_stage_leaves_an_answer_and_its_name(tmp_path: Path) -> None:
    answer(request(tiny.mlp(), tmp_path, "load", "executed"))
    loaded, executed = read_answer(tmp_path, "load"), read_answer(tmp_path, "executed")
    assert loaded is not None and len(loaded.placement["cpu"]) == 3
    assert executed is not None and executed.file == str(tmp_path / EXECUTED)
    assert (tmp_path / NOW).read_text() == "executed"
    assert not (tmp_path / WEIGHTS).exists()


def test_weights_apart_lie_beside_the_graph(tmp_path: Path) -> None:
    answer(request(tiny.mlp(features=64, hidden=64), tmp_path, "executed", apart=True))
    assert (tmp_path / WEIGHTS).stat().st_size >= 64 * 64 * 4


def test_a_model_that_does_not_load_ends_the_stages(tmp_path: Path) -> None:
    answer(request(tiny.unknown_operator(), tmp_path, "load", "executed"))
    loaded = read_answer(tmp_path, "load")
    assert loaded is not None and "example.com" in loaded.error
    assert read_answer(tmp_path, "executed") is None


def test_an_unexpected_error_of_one_stage_leaves_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(work: object) -> Answer:
        raise ZeroDivisionError("a\nsurprise")

    monkeypatch.setattr(child._Work, "probe", broken)
    answer(request(tiny.mlp(), tmp_path, "probe", "executed"))
    probed = read_answer(tmp_path, "probe")
    assert probed is not None and probed.error == "ZeroDivisionError: a surprise"
    assert read_answer(tmp_path, "executed") is not None


def test_a_missing_onnxruntime_is_no_fault_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(work: object) -> Answer:
        raise MissingExtra("cpu", "running a model")

    monkeypatch.setattr(child._Work, "load", missing)
    with pytest.raises(MissingExtra):
        answer(request(tiny.mlp(), tmp_path, "load"))


def test_placement_tells_operators_whatever_the_nodes_are_called(tmp_path: Path) -> None:
    model = tiny.mlp()
    model.graph.node[1].name = 'layer / 1 "relu"'
    answer(request(model, tmp_path, "load"))
    loaded = read_answer(tmp_path, "load")
    assert loaded is not None and loaded.placement == {"cpu": ["Gemm", "Relu", "Gemm"]}

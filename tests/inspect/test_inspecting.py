from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto as T

from hotlap.errors import ModelError, UsageError
from hotlap.inspect import inspect, inspecting
from hotlap.model.cost import Cost
from tests import tiny


def sick() -> onnx.ModelProto:
    """Text through (info, info), an unused input (info), a dead end (warning), a name made twice (error)."""
    built = tiny.text()
    built.graph.input.append(tiny.info("unused", T.FLOAT, [1]))
    built.graph.node.append(tiny.node("Shape", ["x"], ["dead"]))
    built.graph.node.append(tiny.node("Shape", ["x"], ["x"]))
    return built


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tiny.save(sick(), tmp_path / "m.onnx")


def test_the_worst_comes_first(path: Path) -> None:
    found = inspect(path, probe=False)
    assert [f.severity for f in found.findings] == ["error", "warning", *["info"] * 4]
    assert [f.code for f in found.findings[2:]] == sorted(f.code for f in found.findings[2:])
    assert (found.ran, found.data, found.facts, found.unknown) == (False, "", None, ())
    assert found.anatomy.path == str(path)


def test_codes_and_themes_are_left_out_when_asked(path: Path) -> None:
    found = inspect(path, probe=False, ignore=["HL403", "HL412"])
    assert {f.code for f in found.findings} == {"HL405", "HL407", "HL413"}
    assert found.ignored == ("HL403", "HL412")
    assert inspect(path, probe=False, ignore=["HL4"]).findings == ()


@pytest.mark.parametrize("code", ["HL9", "HL40", "403", "", "hl403"])
def test_a_code_that_no_rule_has_is_refused(path: Path, code: str) -> None:
    with pytest.raises(UsageError, match="ignore: no rule has the code"):
        inspect(path, probe=False, ignore=[code])


def test_it_runs_the_model_and_says_so(tmp_path: Path) -> None:
    found = inspect(tiny.save(tiny.mlp(), tmp_path / "m.onnx"))
    assert (found.ran, found.data, found.placement, found.unknown) == (True, "generated", {"cpu": 3}, ())
    assert found.facts is not None and found.facts.axes == {"x": 0, "y": 0}
    assert not found.fails("error")


def test_the_cost_is_counted_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    monkeypatch.setattr(inspecting, "cost_of", lambda path: Cost(why=path.name))
    assert inspect(path, probe=False).anatomy.cost is None
    assert inspect(path, probe=False, cost=True).anatomy.cost == Cost(why="m.onnx")


def test_a_model_that_does_not_load_is_an_error(tmp_path: Path) -> None:
    found = inspect(tiny.save(tiny.unknown_operator(), tmp_path / "m.onnx"))
    assert {f.code for f in found.findings if f.severity == "error"} == {"HL303"}


def test_a_model_without_its_weights_is_told_and_not_run(tmp_path: Path) -> None:
    path = tiny.mlp_external(tmp_path)
    (tmp_path / "model.onnx.data").unlink()
    found = inspect(path)
    assert [f.code for f in found.findings] == ["HL305"]
    assert not found.ran
    assert found.unknown == ("all that only a run shows: its external weights are not in order",)


def test_a_named_runtime_is_judged_for_though_another_ran_it(tmp_path: Path) -> None:
    built = tiny.add()
    built.ir_version, built.opset_import[0].version = 11, 23
    path = tiny.save(built, tmp_path / "m.onnx")
    assert inspect(path).findings == ()
    found = inspect(path, target_ort="1.20", target_cpu="AVX2")
    assert [f.code for f in found.findings] == ["HL301", "HL302"]
    assert (found.judged.onnxruntime, found.judged.processor) == ("1.20", "avx2")


@pytest.mark.parametrize("content", [b"", b"no model", None])
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "m.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError):
        inspect(path)


def test_a_graph_broken_in_many_ways_is_judged_by_every_rule(tmp_path: Path) -> None:
    built = sick()
    for node in (
        tiny.node("If", [], []),
        tiny.node("If", ["nobody"], ["z"]),
        tiny.node("Conv", [], ["", ""]),
        tiny.node("ZipMap", [], [], domain="ai.onnx.ml"),
        tiny.node("Constant", [], ["k"]),
        tiny.node("Identity", [], ["i"]),
        tiny.node("Conv", ["x"], ["q"], domain="com.microsoft.nchwc"),
        tiny.node("Add", ["loop"], ["loop"]),
    ):
        built.graph.node.append(node)
    del built.opset_import[:]
    found = inspect(tiny.save(built, tmp_path / "m.onnx"), probe=False)
    assert found.unknown == ()
    assert {"HL303", "HL411", "HL412"} <= {f.code for f in found.findings}

from __future__ import annotations

from pathlib import Path

import onnx

from hotlap.inspect.case import Ran, Runtime
from hotlap.inspect.rules import opset_too_new
from tests import tiny
from tests.inspect.cases import found

OLD = Runtime(ort="1.20", named=True, max_ir=10, max_opset=21, max_ml_opset=5)


def newer(opset: int = 23) -> onnx.ModelProto:
    built = tiny.add()
    built.opset_import[0].version = opset
    return built


def test_an_opset_above_the_table_is_an_error_and_says_what_needs_it(tmp_path: Path) -> None:
    (finding,) = found(opset_too_new, newer(), tmp_path, runtime=OLD)
    assert finding.severity == "error"
    assert finding.message == (
        "opset 23 is newer than onnxruntime 1.20 reads (21 at most); no operator in it changed since opset 21"
    )
    assert finding.fix == "hotlap optimize MODEL --fix HL301:21 -o OUT.onnx"


def test_operators_that_changed_since_are_named(tmp_path: Path) -> None:
    (finding,) = found(opset_too_new, tiny.identity(opset=25), tmp_path, runtime=OLD)
    assert finding.message.endswith("changed since then: Identity (25)")


def test_a_domain_of_its_own_has_its_own_limit(tmp_path: Path) -> None:
    old = Runtime(ort="1.10", named=True, max_ir=8, max_opset=18, max_ml_opset=2)
    built = tiny.zipmap()
    assert found(opset_too_new, built, tmp_path, runtime=old) == []
    built.opset_import[1].version = 3
    (finding,) = found(opset_too_new, built, tmp_path, runtime=old)
    assert finding.message.startswith(
        "opset of ai.onnx.ml 3 is newer than onnxruntime 1.10 reads (2 at most)"
    )
    assert finding.fix == "export it again with opset of ai.onnx.ml 2, or install a newer onnxruntime"


def test_the_newest_that_is_read_is_none(tmp_path: Path) -> None:
    assert found(opset_too_new, newer(21), tmp_path, runtime=OLD) == []
    assert found(opset_too_new, newer(28), tmp_path) == []


def test_what_the_installed_runtime_loaded_it_reads(tmp_path: Path) -> None:
    assert len(found(opset_too_new, newer(29), tmp_path, ran=Ran(refusal="opset 29"))) == 1
    assert found(opset_too_new, newer(29), tmp_path, ran=Ran()) == []
    assert len(found(opset_too_new, newer(29), tmp_path, ran=Ran(), runtime=OLD)) == 1


def test_nothing_is_said_of_a_runtime_that_is_not_known(tmp_path: Path) -> None:
    assert found(opset_too_new, newer(99), tmp_path, runtime=Runtime(ort="2.0")) == []

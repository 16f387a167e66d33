from __future__ import annotations

from pathlib import Path

import onnx

from hotlap.inspect.case import Ran, Runtime
from hotlap.inspect.rules import ir_too_new
from tests import tiny
from tests.inspect.cases import found

OLD = Runtime(ort="1.14", named=True, max_ir=8, max_opset=18, max_ml_opset=3)


def of_version(ir: int) -> onnx.ModelProto:
    built = tiny.add()
    built.ir_version = ir
    return built


def test_a_newer_format_is_an_error(tmp_path: Path) -> None:
    (finding,) = found(ir_too_new, of_version(9), tmp_path, runtime=OLD)
    assert finding.severity == "error"
    assert finding.message == "IR version 9 is newer than onnxruntime 1.14 reads (8 at most)"
    assert finding.fix == "hotlap optimize MODEL --fix HL302 -o OUT.onnx"


def test_the_newest_that_is_read_is_none(tmp_path: Path) -> None:
    assert found(ir_too_new, of_version(8), tmp_path, runtime=OLD) == []


def test_what_the_installed_runtime_loaded_it_reads(tmp_path: Path) -> None:
    assert len(found(ir_too_new, of_version(15), tmp_path, ran=Ran(refusal="no"))) == 1
    assert found(ir_too_new, of_version(15), tmp_path, ran=Ran()) == []

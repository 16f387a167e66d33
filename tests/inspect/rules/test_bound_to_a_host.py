from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

from hotlap.inspect.rules import bound_to_a_host
from tests import tiny
from tests.inspect.cases import HERE, found

WIDE = replace(HERE, features=HERE.features | {"AVX-512F"})


def blocked(channels: int) -> onnx.ModelProto:
    """A convolution as ONNX Runtime saves it, in blocks of channels."""
    domain = "com.microsoft.nchwc"
    built = tiny.model(
        [
            tiny.node("Conv", ["x", "w"], ["c"], domain=domain, pads=[1, 1, 1, 1]),
            tiny.node("ReorderOutput", ["c"], ["y"], domain=domain, channels=channels),
        ],
        [tiny.info("x", T.FLOAT, [1, 3, 8, 8])],
        [tiny.info("y", T.FLOAT, [1, channels, 8, 8])],
        {"w": np.ones((channels, 3, 3, 3), np.float32)},
    )
    built.opset_import.append(helper.make_opsetid(domain, 1))
    return built


def stamped(**entries: str) -> onnx.ModelProto:
    built = tiny.add()
    for key, value in entries.items():
        built.metadata_props.add(key=f"hotlap.executed.{key}", value=value)
    return built


def test_blocks_that_fit_any_processor_are_a_warning(tmp_path: Path) -> None:
    (finding,) = found(bound_to_a_host, blocked(16), tmp_path)
    assert finding.severity == "warning"
    assert finding.node == 'com.microsoft.nchwc.Conv "→ c"'
    assert finding.cost == "2 nodes whose data are laid out in blocks"


def test_blocks_that_do_not_fit_the_judged_processor_are_an_error(tmp_path: Path) -> None:
    assert [f.severity for f in found(bound_to_a_host, blocked(8), tmp_path)] == ["warning"]
    (finding,) = found(bound_to_a_host, blocked(8), tmp_path, runtime=WIDE)
    assert finding.severity == "error"
    assert finding.message.endswith("its blocks are of 8 channels, this processor's are of 16")
    unknown = replace(HERE, features=None)
    assert found(bound_to_a_host, blocked(8), tmp_path, runtime=unknown)[0].severity == "warning"


def test_a_stamp_tells_what_it_was_made_for(tmp_path: Path) -> None:
    built = stamped(onnxruntime="1.32.0", features="AVX-512F AVX2")
    (finding,) = found(bound_to_a_host, built, tmp_path)
    assert finding.severity == "error"
    assert "this processor has no AVX-512F" in finding.message
    assert found(bound_to_a_host, built, tmp_path, runtime=WIDE)[0].severity == "warning"


def test_another_version_of_onnx_runtime_is_told(tmp_path: Path) -> None:
    (finding,) = found(bound_to_a_host, stamped(onnxruntime="1.24.4", features="AVX2"), tmp_path)
    assert finding.severity == "warning"
    assert finding.message.endswith(" (with onnxruntime 1.24.4, not 1.32.0; AVX2)")


def test_onnx_runtimes_own_operators_are_told(tmp_path: Path) -> None:
    built = tiny.add()
    built.graph.node[0].domain = "com.microsoft"
    (finding,) = found(bound_to_a_host, built, tmp_path)
    assert (finding.severity, finding.message) == (
        "info",
        "only ONNX Runtime runs it: 1 node is of its own operators (1 com.microsoft.Add)",
    )


def test_an_import_that_no_node_uses_is_none(tmp_path: Path) -> None:
    built = tiny.add()
    built.opset_import.append(helper.make_opsetid("com.microsoft.nchwc", 1))
    assert found(bound_to_a_host, built, tmp_path) == []

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from hotlap.errors import MissingExtra, ModelError
from hotlap.model import graph
from hotlap.model.graph import load_graph, nodes, signature, tensors
from hotlap.runtime import default_session
from hotlap.tensors import TensorSpec
from tests import tiny

ALL = (
    "add",
    "add_pair",
    "gather_mask",
    "text",
    "scalar",
    "empty",
    "zipmap",
    "sequence",
    "branch",
    "no_input",
)


@pytest.mark.parametrize("name", ALL)
def test_the_signature_is_the_one_that_a_session_shows(name: str, tmp_path: Path) -> None:
    path = tiny.save(getattr(tiny, name)(), tmp_path / "m.onnx")
    session = default_session(path)
    assert signature(load_graph(path)) == (session.inputs, session.outputs)


def test_a_tensor_of_unknown_rank_is_no_scalar() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
    model = tiny.model([tiny.node("Neg", ["x"], ["y"])], [x], [tiny.info("y", TensorProto.FLOAT, [])])
    inputs, outputs = signature(model)
    assert (inputs[0].ranked, outputs[0].ranked) == (False, True)


def test_weights_listed_as_inputs_are_none() -> None:
    model = tiny.mlp()
    model.graph.input.append(tiny.info("w1", TensorProto.FLOAT, [16, 32]))
    assert [s.name for s in signature(model)[0]] == ["x"]


def test_types_are_spelt_as_ort_does() -> None:
    optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.INT64, [2]))
    sparse = helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [2])
    model = tiny.model([], [helper.make_value_info("o", optional), helper.make_value_info("s", sparse)], [])
    assert signature(model)[0] == (
        TensorSpec("o", "optional(tensor(int64))"),
        TensorSpec("s", "sparse_tensor(float)"),
    )


def test_nodes_and_tensors_in_branches_functions_and_attributes_are_found() -> None:
    inner = helper.make_graph(
        [tiny.node("Constant", [], ["c"], value=numpy_helper.from_array(np.ones(2, np.float32), "deep"))],
        "inner", [], [tiny.info("c", TensorProto.FLOAT, [2])],
        [numpy_helper.from_array(np.ones(3, np.float32), "inside")],
    )  # fmt: skip
    model = tiny.model(
        [tiny.node("If", ["yes"], ["y"], then_branch=inner, else_branch=inner)],
        [], [tiny.info("y", TensorProto.FLOAT, [2])], {"yes": np.array(True)},
    )  # fmt: skip
    function = helper.make_function("d", "F", [], ["z"], [tiny.node("Shape", ["q"], ["z"])], [])
    model.functions.append(function)
    assert [n.op_type for n in nodes(model)] == ["If", "Constant", "Constant", "Shape"]
    assert sorted(t.name for t in tensors(model)) == ["deep", "deep", "inside", "inside", "yes"]


def test_sparse_weights_are_found() -> None:
    model = tiny.add()
    values = numpy_helper.from_array(np.ones(1, np.float32), "v")
    indices = numpy_helper.from_array(np.zeros(1, np.int64), "i")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    assert [t.name for t in tensors(model)] == ["v", "i"]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "the file is empty"),
        (b"hello world", "not an ONNX file"),
        (b"\x3a\x04\xff\xff\xff\xff", "its protobuf does not parse"),
        (b"\x00\x00\x00\x00ORTM" + bytes(20), "in ONNX Runtime's own format"),
    ],
)
def test_what_is_no_graph_is_a_model_error(tmp_path: Path, data: bytes, line: str) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=line) as caught:
        load_graph(path)
    assert "\n" not in str(caught.value)


def test_without_the_onnx_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    graph.onnx.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r"pip install 'hotlap\[tools\]'"):
        graph.onnx()
    monkeypatch.undo()
    assert graph.onnx() is onnx


def test_the_version_of_onnx_reads_what_onnxruntime_reads(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    assert (
        onnxruntime.InferenceSession(str(path)).get_inputs()[0].name == signature(load_graph(path))[0][0].name
    )


def test_half_precision_is_seen_in_weights_and_casts() -> None:
    cast = tiny.node("Cast", ["x"], ["y"], to=TensorProto.FLOAT16)
    ends = [[tiny.info(n, t, ["N"])] for n, t in (("x", TensorProto.FLOAT), ("y", TensorProto.FLOAT16))]
    assert graph.holds_half(tiny.model([cast], *ends))
    weighted = tiny.add()
    weighted.graph.initializer.append(numpy_helper.from_array(np.ones(2, np.float16), "w"))
    assert graph.holds_half(weighted) and not graph.holds_half(tiny.mlp())


def test_text_that_is_no_utf_8_is_spelt_out(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    built = tiny.model(
        [tiny.node("Neg", ["in_a"], ["y"], name="in_b")],
        [tiny.info("in_a", TensorProto.FLOAT, ["in_c", 4])],
        [tiny.info("y", TensorProto.FLOAT, ["in_c", 4])],
    )
    built.producer_name = "in_d"
    # The same name on both sides stays the same name.
    file.write_bytes(built.SerializeToString().replace(b"in_", b"\xff_\xe9"))
    model = load_graph(file)
    assert model.producer_name == "\\xff_\\xe9d"
    assert (model.graph.node[0].name, model.graph.node[0].input[0]) == ("\\xff_\\xe9b", "\\xff_\\xe9a")
    assert signature(model)[0][0].label == "float32[\\xff_\\xe9c, 4]"
    assert signature(model)[0][0].name == "\\xff_\\xe9a"

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from hotlap.errors import ModelError
from hotlap.runtime.modelfile import check_model_file, external_names, has_loop, ranked_names
from tests import tiny


def test_a_model_passes(tmp_path: Path) -> None:
    check_model_file(tiny.save(tiny.mlp(), tmp_path / "m.onnx"))


def test_a_name_with_spaces_and_letters_of_any_script_passes(tmp_path: Path) -> None:
    check_model_file(tiny.save(tiny.mlp(), tmp_path / "mein Modell 模型 é.onnx"))


def test_a_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    tiny.save(tiny.add(), tmp_path / "model.onnx")
    with pytest.raises(ModelError, match=r'modle\.onnx: no such file \(did you mean "model\.onnx"\?\)'):
        check_model_file(tmp_path / "modle.onnx")


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file; there is no folder"):
        check_model_file(tmp_path / "nowhere" / "m.onnx")


def test_a_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a folder, not a model file"):
        check_model_file(tmp_path)


def test_no_permission_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiny.save(tiny.add(), tmp_path / "m.onnx")

    def refuse(self: Path, mode: str) -> None:  # root may read everything, so it is scripted
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ModelError, match="cannot be read: Permission denied"):
        check_model_file(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    with pytest.raises(ModelError, match="not a regular file"):
        check_model_file(tmp_path / "pipe.onnx")


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", "the file is empty"),
        (b"hello world, this is not a model", "not an ONNX file"),
        (b"<!DOCTYPE html><html></html>", "not an ONNX file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "not an ONNX file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n", "a Git LFS pointer"),
        (b"\x08\x08", "not an ONNX model: it holds no graph"),
    ],
)
def test_what_is_no_model_is_named(tmp_path: Path, data: bytes, line: str) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=line):
        check_model_file(path)


def test_a_file_cut_short_says_how_much_there_should_be(tmp_path: Path) -> None:
    whole = tiny.mlp().SerializeToString()
    path = tmp_path / "m.onnx"
    for size in (len(whole) // 10, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelError, match=f"cut short: it has {size} bytes of {len(whole)}|cut short"):
            check_model_file(path)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=300))
def test_no_bytes_make_it_fail_otherwise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / f"garbage-{threading.get_ident()}.onnx"
    path.write_bytes(data)
    try:
        check_model_file(path)
    except ModelError as error:
        assert "\n" not in str(error)


def test_orts_own_format_is_left_to_ort(tmp_path: Path) -> None:
    path = tmp_path / "m.ort"
    path.write_bytes(b"\x00\x00\x00\x00ORTM" + bytes(20))
    check_model_file(path)
    assert ranked_names(path) == frozenset()


def test_a_scalar_is_told_from_an_input_of_unknown_rank(tmp_path: Path) -> None:
    def value(name: str, shape: list[int] | None) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    model = tiny.model(
        [tiny.node("Add", ["scalar", "any"], ["sum"])],
        [value("scalar", []), value("any", None)],
        [value("sum", None)],
    )
    assert ranked_names(tiny.save(model, tmp_path / "m.onnx")) == {"scalar"}


def test_a_name_that_is_not_utf8_is_told() -> None:
    with pytest.raises(ModelError, match="its name is not UTF-8"):
        check_model_file(Path("m\udcff.onnx"))


def test_files_of_external_weights_are_named_wherever_a_tensor_stands(tmp_path: Path) -> None:
    assert external_names(tiny.mlp_external(tmp_path)) == {"model.onnx.data"}
    assert external_names(tiny.save(tiny.mlp(), tmp_path / "own.onnx")) == frozenset()
    # An initializer, a constant, and constants in a branch and in a function.
    model = tiny.external_at("first.bin")
    constants = [_constant_at(f"{n}.bin") for n in ("second", "third", "fourth")]
    model.graph.node.append(constants[0])
    branch = helper.make_graph([constants[1]], "branch", [], [tiny.info("k", TensorProto.FLOAT, [4])])
    model.graph.node.append(helper.make_node("If", ["c"], ["k"], then_branch=branch, else_branch=branch))
    opset = helper.make_opsetid("", 17)
    model.functions.append(helper.make_function("d", "f", [], ["k"], [constants[2]], [opset]))
    path = tiny.save(model, tmp_path / "m.onnx")
    assert external_names(path) == {"first.bin", "second.bin", "third.bin", "fourth.bin"}


def _constant_at(location: str) -> onnx.NodeProto:
    tensor = TensorProto(name="k", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, "offset": "0", "length": "16"}.items():
        tensor.external_data.add(key=key, value=value)
    return helper.make_node("Constant", [], ["k"], value=tensor)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_name_files_or_are_no_protobuf(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any-{threading.get_ident()}.onnx"
    path.write_bytes(b"\x3a" + bytes([len(data) % 128]) + data)
    try:
        check_model_file(path)
        names = external_names(path)
    except ModelError:
        return
    assert all(isinstance(name, str) for name in names)


def test_a_loop_is_found_wherever_it_stands(tmp_path: Path) -> None:
    assert not has_loop(tiny.save(tiny.mlp(), tmp_path / "mlp.onnx"))
    assert not has_loop(tiny.save(tiny.branch(), tmp_path / "branch.onnx"))
    model = tiny.counting()
    assert has_loop(tiny.save(model, tmp_path / "loop.onnx"))
    inner = helper.make_graph(model.graph.node, "inner", [], [helper.make_empty_tensor_value_info("y")])
    node = helper.make_node("If", ["c"], ["z"], then_branch=inner, else_branch=inner)
    nested = helper.make_model(helper.make_graph([node], "g", [], []))
    assert has_loop(tiny.save(nested, tmp_path / "nested.onnx"))
    opsets = [helper.make_opsetid("", 17)]
    function = helper.make_function("own", "Repeat", ["n", "x"], ["y"], list(model.graph.node), opsets)
    calling = helper.make_model(helper.make_graph([], "g", [], []), functions=[function])
    assert has_loop(tiny.save(calling, tmp_path / "calling.onnx"))

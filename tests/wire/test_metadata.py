from __future__ import annotations

import json
from typing import Any

import pytest

from hotlap.tensors import TensorSpec
from hotlap.wire import Signature, model_config, model_metadata, server_metadata
from tests.wire import made

SIGNATURE = Signature.of(
    [made.spec("x", "float32", ["batch", 3, None]), made.spec("t", "string", ["batch", 1])],
    [made.spec("y", "bfloat16", ["batch", 4])],
)


def config(signature: Signature, **more: Any) -> Any:
    return json.loads(model_config("m", signature, **more))


def test_the_server_says_what_it_can() -> None:
    assert json.loads(server_metadata("hotlap", "1.0", ("statistics",))) == {
        "name": "hotlap", "version": "1.0", "extensions": ["statistics"],
    }  # fmt: skip


def test_a_models_tensors_are_named_in_full() -> None:
    assert json.loads(model_metadata("m", ["1"], SIGNATURE)) == {
        "name": "m",
        "versions": ["1"],
        "platform": "onnxruntime_onnx",
        "inputs": [
            {"name": "x", "datatype": "FP32", "shape": [-1, 3, -1]},
            {"name": "t", "datatype": "BYTES", "shape": [-1, 1]},
        ],
        "outputs": [{"name": "y", "datatype": "BF16", "shape": [-1, 4]}],
    }


def test_the_configuration_spells_types_in_its_own_way() -> None:
    found = config(SIGNATURE)
    assert [i["data_type"] for i in found["input"]] == ["TYPE_FP32", "TYPE_STRING"]
    assert found["output"][0]["data_type"] == "TYPE_BF16"
    assert found["input"][0]["dims"] == [-1, 3, -1]
    assert found["max_batch_size"] == 0 and "dynamic_batching" not in found


def test_what_perf_analyzer_reads_is_there() -> None:
    found = config(SIGNATURE, file_name="net.onnx")
    assert (found["name"], found["platform"], found["backend"]) == ("m", "onnxruntime_onnx", "onnxruntime")
    assert found["default_model_filename"] == "net.onnx"
    assert found["model_transaction_policy"] == {"decoupled": False}
    for tensor in found["input"]:
        assert tensor["is_shape_tensor"] is tensor["optional"] is False


def test_with_a_batch_size_shapes_leave_its_axis_out() -> None:
    found = config(SIGNATURE, max_batch_size=8)
    assert found["max_batch_size"] == 8 and found["dynamic_batching"] == {}
    assert [i["dims"] for i in found["input"]] == [[3, -1], [1]]
    assert found["output"][0]["dims"] == [4]


def test_a_batch_size_is_ignored_where_a_first_axis_is_fixed() -> None:
    fixed = Signature.of([made.spec("x", "float32", [1, 3])], [made.spec("y", "float32", ["n", 4])])
    assert config(fixed, max_batch_size=8)["max_batch_size"] == 0
    assert config(fixed, max_batch_size=8)["input"][0]["dims"] == [1, 3]


@pytest.mark.parametrize("name", made.CARRIED)
def test_every_type_has_both_spellings(name: str) -> None:
    both = made.signature(name, 1)
    word = made.CARRIED[name].protocol
    assert json.loads(model_metadata("m", ["1"], both))["inputs"][0]["datatype"] == word
    want = "TYPE_STRING" if word == "BYTES" else f"TYPE_{word}"
    assert config(both)["input"][0]["data_type"] == want


def test_an_unknown_rank_is_one_free_axis_and_optional_is_said() -> None:
    unranked = TensorSpec("x", "tensor(float)", ranked=False)
    optional = TensorSpec("o", "optional(tensor(float))", (2,))
    found = Signature.of([unranked, optional], [made.spec("y", "float32", [1])])
    assert [i["dims"] for i in config(found)["input"]] == [[-1], [2]]
    assert [i["optional"] for i in config(found)["input"]] == [False, True]

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hotlap.tensors import TensorSpec
from hotlap.wire import InferRequest, Region, Signature, Wanted, encode_infer
from tests.wire import made

Y = np.array([[1.5, -2, 0, 4]], np.float32)
ONE = made.floats(x=["batch", 3])
TWO = Signature.of(
    [made.spec("x", "float32", [1])], [made.spec("y", "float32", [None, 4]), made.spec("t", "string", [None])]
)
TEXT = made.values("string", (3,))


def encoded(
    request: InferRequest, outputs: dict[str, Any], of: Signature = ONE, **more: Any
) -> tuple[Any, bytes]:
    """The reply's JSON and the bytes behind it."""
    buffers, length = encode_infer(request, of, "m", "1", outputs, **more)
    whole = b"".join(buffers)
    return (json.loads(whole), b"") if length is None else (json.loads(whole[:length]), whole[length:])


def test_a_reply_in_json() -> None:
    assert encode_infer(InferRequest(), ONE, "m", "1", {"y": Y}) == (
        [
            b'{"model_name":"m","model_version":"1","outputs":'
            b'[{"name":"y","datatype":"FP32","shape":[1,4],"data":[1.5,-2.0,0.0,4.0]}]}'
        ],
        None,
    )


def test_a_reply_as_bytes() -> None:
    head = (
        b'{"id":"7","model_name":"m","model_version":"1","outputs":'
        b'[{"name":"y","datatype":"FP32","shape":[1,4],"parameters":{"binary_data_size":16}}]}'
    )
    request = InferRequest(id="7", binary=True)
    assert encode_infer(request, ONE, "m", "1", {"y": Y}) == ([head + Y.tobytes()], len(head))


def test_names_and_ids_are_json() -> None:
    buffers, _ = encode_infer(InferRequest(id='a"\n'), ONE, 'm"', "v\\", {"y": Y})
    reply = json.loads(b"".join(buffers))
    assert (reply["id"], reply["model_name"], reply["model_version"]) == ('a"\n', 'm"', "v\\")


def test_outputs_come_in_the_order_asked_for_each_in_its_own_way() -> None:
    request = InferRequest(outputs=(Wanted("t", True), Wanted("y", False)))
    reply, tail = encoded(request, {"y": Y, "t": TEXT, "more": Y}, TWO)
    assert reply["outputs"] == [
        {"name": "t", "datatype": "BYTES", "shape": [3], "parameters": {"binary_data_size": len(tail)}},
        {"name": "y", "datatype": "FP32", "shape": [1, 4], "data": [1.5, -2, 0, 4]},
    ]
    assert made.same(TWO.outputs["t"].view((3,), 3, tail, 0, len(tail)), TEXT)


def test_all_outputs_come_where_none_is_named() -> None:
    reply, tail = encoded(InferRequest(binary=True), {"y": Y, "t": TEXT}, TWO)
    assert [o["name"] for o in reply["outputs"]] == ["y", "t"]
    assert tail == Y.tobytes() + bytes(TWO.packed("t", TEXT))


def test_what_lies_in_shared_memory_is_named_alone() -> None:
    request = InferRequest(outputs=(Wanted("y", region=Region("r", 0, 16)), Wanted("t")))
    reply, _ = encoded(request, {"y": Y, "t": TEXT}, TWO, written={"y"})
    assert reply["outputs"][0] == {"name": "y", "datatype": "FP32", "shape": [1, 4]}
    assert reply["outputs"][1]["data"] == TEXT.tolist()


@pytest.mark.parametrize("binary", [False, True])
def test_classes_come_as_text(binary: bool) -> None:
    of = Signature.of(
        [made.spec("x", "float32", [1])],
        [made.spec("y", "float32", [None, 4])],
        labels={"y": ["a", "b", "c"]},
    )
    request = InferRequest(outputs=(Wanted("y", binary, 3),))
    reply, tail = encoded(request, {"y": Y}, of)
    texts = ["4.000000:3", "1.500000:0:a", "0.000000:2:c"]
    (output,) = reply["outputs"]
    assert (output["datatype"], output["shape"]) == ("BYTES", [1, 3])
    if binary:
        assert output["parameters"] == {"binary_data_size": len(tail)}
        assert tail == b"".join(len(t).to_bytes(4, "little") + t.encode() for t in texts)
    else:
        assert output["data"] == texts and "parameters" not in output


def test_no_bytes_need_no_header_length() -> None:
    buffers, length = encode_infer(InferRequest(binary=True), ONE, "m", "1", {"y": Y[:0]})
    assert length is None
    assert json.loads(buffers[0])["outputs"][0] == {
        "name": "y", "datatype": "FP32", "shape": [0, 4], "parameters": {"binary_data_size": 0},
    }  # fmt: skip


def test_large_outputs_are_lent_small_ones_are_put_together() -> None:
    of = Signature.of(
        [made.spec("x", "float32", [1])], [made.spec(n, "float32", [None]) for n in ("a", "b", "c", "d")]
    )
    small, large = np.ones(4, np.float32), np.arange(10**5, dtype=np.float32)
    outputs = {"a": small, "b": large, "c": small, "d": small}
    buffers, length = encode_infer(InferRequest(binary=True), of, "m", "1", outputs)
    assert length is not None and [type(b) for b in buffers] == [bytes, memoryview, bytes]
    assert np.shares_memory(np.frombuffer(buffers[1], np.uint8), large)
    assert b"".join(buffers)[length:] == b"".join(a.tobytes() for a in outputs.values())
    buffers, _ = encode_infer(InferRequest(binary=True, outputs=(Wanted("b", True),)), of, "m", "1", outputs)
    assert [type(b) for b in buffers] == [bytes, memoryview]


def test_outputs_that_the_protocol_cannot_carry_are_not_in_the_reply() -> None:
    of = Signature.of(
        [made.spec("x", "float32", [1])],
        [TensorSpec("m", "seq(tensor(float))"), made.spec("y", "float32", [1, 4])],
    )
    reply, _ = encoded(InferRequest(), {"m": [Y], "y": Y}, of)
    assert [o["name"] for o in reply["outputs"]] == ["y"]


@given(data=st.data())
def test_any_output_is_read_back_bit_by_bit(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(made.CARRIED)))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    array = made.values(name, shape)
    if data.draw(st.booleans()):
        array = array.copy(order="F")
    of = made.signature(name, len(shape))
    port = of.outputs["y"]
    reply, tail = encoded(InferRequest(binary=True), {"y": array}, of)
    (output,) = reply["outputs"]
    assert (output["datatype"], output["shape"]) == (port.datatype, list(shape))
    assert made.same(port.view(shape, array.size, tail, 0, len(tail)), array)
    reply, _ = encoded(InferRequest(), {"y": array}, of)
    text = json.dumps(reply["outputs"][0]["data"]).encode()
    assert made.same(port.json.read(text, shape, array.size), array)

from __future__ import annotations

import json
import math

import pytest
from msgspec import UNSET, Raw

from hotlap.errors import InputError
from hotlap.wire.header import InputParameters, read_header

X = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}


def refused(text: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_header(text)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


def test_everything_a_request_may_say() -> None:
    parameters = {"binary_data_size": 8, "shared_memory_region": "r", "content_type": "np"}
    header = read_header(
        json.dumps(
            {
                "model_name": "m",
                "id": "7",
                "parameters": {"priority": 1, "mine": "text", "ratio": 0.5, "on": True},
                "inputs": [X, {"name": "z", "shape": [], "datatype": "BOOL", "parameters": parameters}],
                "outputs": [{"name": "y", "parameters": {"binary_data": True, "classification": 3}}],
            }
        ).encode()
    )
    assert header.id == "7"
    assert header.parameters == {"priority": 1, "mine": "text", "ratio": 0.5, "on": True}
    first, second = header.inputs
    assert (first.name, first.shape, first.datatype) == ("x", (1, 2), "FP32")
    assert isinstance(first.data, Raw) and bytes(first.data) == b"[1, 2]"
    assert second.data is UNSET
    assert second.parameters == InputParameters(binary_data_size=8, shared_memory_region="r")
    assert header.outputs is not None and header.outputs[0].parameters is not None
    assert header.outputs[0].parameters.classification == 3


def test_null_is_as_good_as_nothing() -> None:
    header = read_header(json.dumps({"id": None, "outputs": None, "parameters": None, "inputs": []}).encode())
    assert header.id is header.outputs is header.parameters is None


def test_a_view_reads_as_bytes_do() -> None:
    assert read_header(memoryview(b'..{"inputs":[]}..')[2:-2]).inputs == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "the request is not JSON: Input data was truncated"),
        (b"{]", "the request is not JSON: JSON is malformed: object keys must be strings (byte 1)"),
        (b"[]", "the request: expected object, got array"),
        (b"{}", "the request: object missing required field inputs"),
        (b'{"inputs":[{"name":1}]}', "the request: inputs[0].name: expected str, got int"),
        (b'{"inputs":[],"id":1}', "the request: id: expected str | null, got int"),
        (b'{"inputs":[{"name":"\xff"}]}', "the request is not JSON: "),
    ],
)
def test_what_is_no_request_is_told_in_one_line(text: bytes, said: str) -> None:
    assert refused(text).startswith(said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shape": [1.5]}, "inputs[0].shape[0]: expected int, got float"),
        ({"shape": [2**63]}, "inputs[0].shape[0]: expected int <= 9223372036854775807"),
        (
            {"parameters": {"binary_data_size": -1}},
            "inputs[0].parameters.binary_data_size: expected int >= 0",
        ),
        ({"parameters": []}, "inputs[0].parameters: expected object | null, got array"),
    ],
)
def test_what_is_no_input_is_told_with_its_place(change: dict[str, object], said: str) -> None:
    assert refused(json.dumps({"inputs": [X | change]}).encode()) == f"the request: {said}"


def test_parameters_are_single_values() -> None:
    text = json.dumps({"inputs": [], "parameters": {"deep": {"deeper": 1}}}).encode()
    assert "got object" in refused(text)


@pytest.mark.parametrize("text", [b'{"x":' + b"[" * 100_000, b'{"inputs":[{"data":' + b"[" * 100_000])
def test_what_is_nested_without_end_is_refused(text: bytes) -> None:
    assert refused(text) == "the request is nested too deeply"


def test_not_a_number_and_infinity_are_read_as_python_writes_them() -> None:
    text = json.dumps({"inputs": [X | {"data": [math.nan, -math.inf, 1]}]}).encode()
    data = read_header(text).inputs[0].data
    assert isinstance(data, list)
    assert math.isnan(data[0]) and data[1:] == [-math.inf, 1]


@pytest.mark.parametrize(
    "text",
    [
        b'{"inputs": NaN}',
        b'{"inputs":[{"name":"NaN",]}',
        b'{"inputs":[Infinity',
        b'{"inputs":[NaN,"\xff"]}',
        b'{"inputs":[],"x":NaN,"id":"\\ud800"}',
        b'{"inputs":[],"x":NaN,"id":"\\uDC00"}',
        b'{"inputs":[{"data":NaN,"more":' + b"[" * 100_000,
        b'{"inputs":[],"x":NaN,"y":' + b"9" * 5000 + b"}",
    ],
)
def test_the_slower_parser_refuses_as_well(text: bytes) -> None:
    assert refused(text).startswith("the request")

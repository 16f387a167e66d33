from __future__ import annotations

import contextlib
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hotlap
from hotlap.errors import InputError, TooLarge
from hotlap.tensors import TensorSpec
from hotlap.wire import InferRequest, Region, Signature, Wanted, decode_infer
from tests import tiny
from tests.wire import made
from tests.wire.made import binary_input, body, json_input

RECORDED = Path(__file__).parent / "recorded"
X = np.arange(6, dtype=np.float32).reshape(2, 3)
ONE = made.floats(x=["batch", 3])
TWO = made.floats(a=["batch", 3], b=["batch", 3])


def decoded(text: bytes, tail: bytes | None = None, of: Signature = ONE, most: int = 10**6) -> InferRequest:
    if tail is None:
        return decode_infer(text, None, of, most_elements=most)
    return decode_infer(text + tail, len(text), of, most_elements=most)


def problems(text: bytes, tail: bytes | None = None, of: Signature = ONE) -> list[str]:
    with pytest.raises(InputError) as caught:
        decoded(text, tail, of)
    return caught.value.problems


# ── what is right ─────────────────────────────────────────────────────────────────────────────────────────


def test_numbers_in_json() -> None:
    request = decoded(body([json_input("x", [2, 3], [0, 1, 2, 3, 4, 5])], id="7"))
    assert made.same(request.feed["x"], X)
    assert (request.id, request.outputs, request.binary, request.timeout) == ("7", (), False, None)
    assert made.same(decoded(body([json_input("x", [2, 3], X.tolist())])).feed["x"], X)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({}, ""),
        ({"id": "7"}, ""),
        ({"parameters": {}, "outputs": []}, ""),
        ({"inputs": [json_input("x", [2, 3], [[0, 1, 2], [3, 4, 5]])]}, ""),
        ({"inputs": []}, 'input "x": missing'),
        ({"inputs": [json_input("z", [2, 3], [0, 1, 2, 3, 4, 5])]}, 'input "z": the model has no'),
        ({"inputs": [json_input("x", [2, 3], [0, 1, 2, 3, 4])]}, 'input "x": data holds 5 values'),
        ({"inputs": [json_input("x", [2, 3], [0, 1, 2, 3, 4, "5"])]}, 'input "x": data[5]: expected'),
        ({"inputs": [json_input("x", [2, 3], [0, 1, 2, 3, 4, 1e300])]}, 'input "x": data[5]: expected'),
        ({"inputs": [json_input("x", [2, 4], [0] * 8)]}, 'input "x": axis 1 has size 4'),
        ({"inputs": [{"name": "x", "shape": [2, 3], "datatype": "FP32"}]}, 'input "x": holds nothing'),
        ({"parameters": {"priority": -1}}, "parameter priority: expected"),
        ({"outputs": [{"name": "z"}]}, 'output "z": the model has no'),
    ],
)
def test_what_was_seen_before_is_read_quickly_and_judged_alike(more: dict[str, Any], problem: str) -> None:
    of = made.floats(x=["batch", 3])
    whole = {"inputs": [json_input("x", [2, 3], [0, 1, 2, 3, 4, 5])], **more}
    text = json.dumps(whole).encode()
    large = text + b" " * 100_000  # too large to be read twice
    if not problem:
        first, quick, slow = decoded(text, of=of), decoded(text, of=of), decoded(large, of=of)
        for request in (first, quick, slow):
            assert made.same(request.feed.pop("x"), X)
        assert first == quick == slow
        return
    decoded(json.dumps({"inputs": [json_input("x", [2, 3], [0] * 6)]}).encode(), of=of)
    found = problems(text, of=of)
    assert found == problems(large, of=of) and found[0].startswith(problem)


def test_what_was_seen_before_has_no_more_elements_than_are_taken() -> None:
    text = body([json_input("x", [2, 3], [0, 1, 2, 3, 4, 5])])
    decoded(text, most=6)
    with pytest.raises(TooLarge):
        decoded(text, most=5)


def test_numbers_as_bytes_are_a_view_on_the_body() -> None:
    text = body([binary_input("x", [2, 3], 24)])
    whole = text + X.tobytes()
    request = decode_infer(whole, len(text), ONE, most_elements=6)
    assert made.same(request.feed["x"], X)
    assert np.shares_memory(request.feed["x"], np.frombuffer(whole, np.uint8))
    assert not request.feed["x"].flags.writeable
    assert request.nbytes == 24


def test_a_view_on_a_buffer_is_read_where_it_is_and_not_written() -> None:
    text = body([binary_input("x", [2, 3], 24)])
    whole = bytearray(text + X.tobytes())
    array = decode_infer(memoryview(whole), len(text), ONE, most_elements=6).feed["x"]
    assert np.shares_memory(array, np.frombuffer(whole, np.uint8)) and not array.flags.writeable


def test_inputs_come_in_any_order_and_in_several_ways() -> None:
    of = Signature.of(
        [made.spec("a", "int8", [3]), made.spec("b", "float64", [2]), made.spec("c", "string", [2])],
        [made.spec("y", "float32", [1])],
    )
    text = body(
        [
            binary_input("c", [2], 11, "BYTES"),
            json_input("a", [3], [1, -2, 3], "INT8"),
            binary_input("b", [2], 16, "FP64"),
        ]
    )
    tail = b"\x01\x00\x00\x00x\x02\x00\x00\x00\xc3\xa9" + np.array([0.5, 2]).tobytes()
    request = decoded(text, tail, of)
    assert request.feed["c"].tolist() == ["x", "é"]
    assert request.feed["a"].tolist() == [1, -2, 3]
    assert request.feed["b"].tolist() == [0.5, 2]
    assert request.nbytes == 11 + 3 + 16


@pytest.mark.parametrize("more", [{}, {"parameters": {"mine": 1}}])
def test_numbers_in_json_count_as_the_array_that_they_are(more: dict[str, Any]) -> None:
    """The length of their text says nothing of it: batches are measured in bytes of arrays."""
    request = decoded(body([json_input("x", [2, 3], [0.123456789] * 6)], **more))
    assert request.nbytes == request.feed["x"].nbytes == 24


def test_all_outputs_in_the_models_order_are_as_good_as_none_named() -> None:
    x, y, z = (made.spec(name, "float32", ["batch", 3]) for name in "xyz")
    of = Signature.of([x], [y, z])

    def wanted(*outputs: dict[str, Any], **more: Any) -> tuple[Wanted, ...]:
        text = body([json_input("x", [2, 3], X.tolist())], outputs=list(outputs), **more)
        decoded(text, of=of)  # the second time its shape was seen before
        return decoded(text, of=of).outputs

    assert wanted({"name": "y"}, {"name": "z"}) == ()
    assert wanted({"name": "y"}, {"name": "z", "parameters": None}) == ()
    assert wanted({"name": "z"}, {"name": "y"}) == (Wanted("z"), Wanted("y"))
    assert wanted({"name": "z"}) == (Wanted("z"),)
    classes = {"name": "z", "parameters": {"classification": 1}}
    assert wanted({"name": "y"}, classes) == (Wanted("y"), Wanted("z", False, 1))
    binary = wanted({"name": "y"}, {"name": "z"}, parameters={"binary_data_output": True})
    assert binary == (Wanted("y", True), Wanted("z", True))


def test_parameters_and_outputs() -> None:
    request = decoded(
        body(
            [json_input("x", [1, 3], [1, 2, 3])],
            parameters={"priority": 2, "timeout": 1500, "binary_data_output": True, "mine": "m"},
            outputs=[{"name": "y", "parameters": {"classification": 2}}],
        )
    )
    assert (request.priority, request.timeout, request.binary) == (2, 0.0015, True)
    assert request.parameters == {"mine": "m"}
    assert request.outputs == (Wanted("y", True, 2),)


def test_shared_memory_is_named_not_read() -> None:
    parameters = {"shared_memory_region": "r", "shared_memory_offset": 8, "shared_memory_byte_size": 24}
    text = body([{"name": "x", "shape": [2, 3], "datatype": "FP32", "parameters": parameters}])
    request = decoded(text)
    assert request.feed == {}
    assert request.regions == {"x": Region("r", 8, 24)} and request.shapes == {"x": (2, 3)}
    assert request.nbytes == 24


def test_an_optional_input_may_be_left_out() -> None:
    of = Signature.of(
        [made.spec("x", "float32", [1]), TensorSpec("o", "optional(tensor(float))", (2,))],
        [made.spec("y", "float32", [1])],
    )
    assert list(decoded(body([json_input("x", [1], [1])]), of=of).feed) == ["x"]
    both = [json_input("x", [1], [1]), json_input("o", [2], [1, 2])]
    assert decoded(body(both), of=of).feed["o"].tolist() == [1, 2]
    assert problems(body(both[1:]), of=of) == ['input "x": missing, expected FP32: float32[1]']


def test_not_a_number_is_read() -> None:
    text = body([json_input("x", [1, 3], [float("nan"), float("-inf"), 1])])
    found = decoded(text).feed["x"]
    assert np.isnan(found[0, 0]) and found[0, 1:].tolist() == [-np.inf, 1]


@given(data=st.data())
def test_any_tensor_comes_through_bit_by_bit_as_bytes_and_as_json(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(made.CARRIED)))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    word, array = made.CARRIED[name].protocol, made.values(name, shape)
    if name not in ("string", "bfloat16"):
        finite = {"allow_nan": False, "allow_infinity": False} if made.CARRIED[name].is_float else None
        array = data.draw(hnp.arrays(array.dtype, shape, elements=finite))
    of, port = made.signature(name, len(shape)), made.signature(name, len(shape)).inputs["x"]
    raw = bytes(port.pack(array))
    assert word is not None
    assert made.same(decoded(body([binary_input("x", shape, len(raw), word)]), raw, of).feed["x"], array)
    plain = array.astype(np.float64) if name == "bfloat16" else array
    flat, nested = plain.ravel().tolist(), plain.tolist() if shape else [plain.item()]
    for values in (flat, nested):
        assert made.same(decoded(body([json_input("x", shape, values, word)]), of=of).feed["x"], array)


# ── requests that a real client wrote ─────────────────────────────────────────────────────────────────────

REQUESTS = json.loads((RECORDED / "requests.json").read_text("utf-8"))["requests"]


def recorded(entry: dict[str, Any]) -> tuple[bytes, int | None]:
    start = entry["start"]
    return (RECORDED / "requests.bin").read_bytes()[start : start + entry["size"]], entry["header"]


@pytest.mark.parametrize("entry", [e for e in REQUESTS if e["kind"] in ("binary", "json")])
def test_a_recorded_tensor_is_what_the_client_was_given(entry: dict[str, Any]) -> None:
    shape = tuple(entry["shape"])
    text, header = recorded(entry)
    request = decode_infer(text, header, made.signature(entry["dtype"], len(shape)), most_elements=99)
    assert made.same(request.feed["x"], made.values(entry["dtype"], shape))
    assert request.id == ("42" if entry["kind"] == "binary" else "")
    if shape == (1, 16):
        assert (request.outputs, request.binary) == ((), True)
    else:
        assert request.outputs == (Wanted("y", entry["kind"] == "binary"),)


def entry_of(kind: str) -> tuple[bytes, int | None]:
    return recorded(next(e for e in REQUESTS if e["kind"] == kind))


def test_a_recorded_request_of_several_inputs() -> None:
    specs = [
        made.spec("a", "float32", [2, 4]),
        made.spec("b", "int64", [2, 4]),
        made.spec("c", "string", [2]),
    ]
    answers = [made.spec("y", "float32", [1]), made.spec("z", "float32", [1])]
    text, header = entry_of("several")
    request = decode_infer(text, header, Signature.of(specs, answers), most_elements=99)
    for spec in specs:
        assert spec.dtype is not None
        shape = tuple(d for d in spec.shape if isinstance(d, int))
        assert made.same(request.feed[spec.name], made.values(spec.dtype.name, shape))
    assert (request.id, request.priority, request.timeout) == ("möre", 3, 0.0025)
    assert request.parameters == {"mine": 1.5}
    assert request.outputs == (Wanted("y", True), Wanted("z", False, 2))


def test_a_recorded_request_through_shared_memory() -> None:
    text, header = entry_of("shared")
    request = decode_infer(text, header, made.signature("float32", 2), most_elements=99)
    assert request.regions == {"x": Region("in", 64, 32)} and request.shapes == {"x": (2, 4)}
    assert request.outputs == (Wanted("y", False, 0, Region("out", 0, 32)),)


def test_a_recorded_request_of_a_sequence_is_refused() -> None:
    text, header = entry_of("sequence")
    with pytest.raises(InputError, match="each request stands alone"):
        decode_infer(text, header, made.floats(a=[2, 4]), most_elements=99)


# ── what is wrong ─────────────────────────────────────────────────────────────────────────────────────────


def test_every_problem_is_told_at_once() -> None:
    text = body(
        [
            json_input("a", [1, 3], [1, "2", 3]),
            json_input("A", [1, 3], [1, 2, 3]),
            json_input("a", [1, 3], [1, 2, 3]),
            json_input("a", [1, 3], [1, 2, 3]),
        ],
        outputs=[{"name": "z"}],
        parameters={"priority": -1},
    )
    assert problems(text, of=TWO) == [
        'input "a": data[1]: expected float, got str (FP32)',
        'input "A": the model has no input of that name (did you mean "a"?); it takes a, b',
        'input "a": given twice',
        'input "b": missing, expected FP32: float32[batch, 3]',
        "parameter priority: expected a whole number of 0 or more",
        'output "z": the model has no output of that name; it gives y',
    ]


def test_inputs_must_fit_together() -> None:
    text = body([json_input("a", [1, 3], [1, 2, 3]), json_input("b", [2, 3], [1, 2, 3, 4, 5, 6])])
    assert problems(text, of=TWO) == [
        'input "b": axis 0 ("batch") has size 2, but "a" axis 0 gave "batch" = 1'
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"datatype": "FP16"}, 'datatype is "FP16", expected FP32: float32[batch, 3]'),
        ({"datatype": "fp32"}, 'datatype is "fp32", expected FP32: float32[batch, 3]'),
        ({"shape": [1, 4]}, "axis 1 has size 4, expected 3: float32[batch, 3]"),
        ({"shape": [-1, 3]}, "shape [-1, 3] has a negative size, expected float32[batch, 3]"),
        ({"shape": [2, 3]}, "data holds 3 values, shape [2, 3] needs 6"),
        ({"shape": [2**62, 3]}, "shape [4611686018427387904, 3] is larger than any memory"),
        (
            {"parameters": {"binary_data_size": 0}},
            "given in more than one way, expected one of data, bytes, shared memory",
        ),
        (
            {"parameters": {"shared_memory_region": "r", "shared_memory_byte_size": 12}},
            "given in more than one way, expected one of data, bytes, shared memory",
        ),
    ],
)
def test_an_input_that_does_not_fit(given: dict[str, Any], said: str) -> None:
    assert problems(body([json_input("x", [1, 3], [1, 2, 3]) | given])) == [f'input "x": {said}']


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "holds nothing: expected data, or the parameter binary_data_size or shared_memory_region"),
        ({"shared_memory_region": "r"}, "shared_memory_byte_size is missing"),
        ({"shared_memory_byte_size": 12}, "shared_memory_region is missing"),
        (
            {"shared_memory_region": "r", "shared_memory_byte_size": 16},
            "shared_memory_byte_size is 16, FP32 of shape [1, 3] takes 12",
        ),
        (
            {"shared_memory_region": "r", "shared_memory_byte_size": 12, "binary_data_size": 0},
            "given in more than one way, expected one of data, bytes, shared memory",
        ),
    ],
)
def test_an_input_without_data(parameters: dict[str, Any], said: str) -> None:
    text = body([{"name": "x", "shape": [1, 3], "datatype": "FP32", "parameters": parameters}])
    assert problems(text) == [f'input "x": {said}']


def test_text_in_shared_memory_needs_its_lengths_at_least() -> None:
    of = made.signature("string", 1)
    given = {"shared_memory_region": "r", "shared_memory_byte_size": 100}
    text = {"name": "x", "shape": [9], "datatype": "BYTES", "parameters": given}
    assert decoded(body([text]), of=of).regions == {"x": Region("r", 0, 100)}
    said = 'input "x": shared_memory_byte_size is 100, BYTES of shape [26] takes 104 or more'
    assert problems(body([text | {"shape": [26]}]), of=of) == [said]


def test_bytes_must_add_up() -> None:
    text = body([binary_input("x", [2, 3], 24)])
    assert problems(text, X.tobytes() + b"12") == ["2 bytes are left after the last input's"]
    said = ['input "x": binary_data_size is 24, but 23 bytes of the body are left']
    assert problems(text, X.tobytes()[:-1]) == said
    missing = "binary_data_size is 24, but 0 bytes of the body are left; is the header "
    missing += "Inference-Header-Content-Length missing or too large?"
    assert problems(text) == [f'input "x": {missing}']
    short = body([binary_input("x", [2, 3], 20)])
    assert problems(short, bytes(20)) == ['input "x": got 20 bytes, FP32 of shape [2, 3] takes 24']


def test_a_wrong_input_does_not_spoil_the_next_ones_bytes() -> None:
    text = body([binary_input("q", [1], 4), binary_input("x", [2, 3], 24)])
    assert len(problems(text, bytes(4) + X.tobytes())) == 1


def test_a_size_beyond_the_body_makes_nothing() -> None:
    text = body([binary_input("a", [1, 3], 2**62), binary_input("b", [1, 3], 12)])
    assert len(problems(text, bytes(24), TWO)) == 2


@pytest.mark.parametrize("length", [-1, 1000])
def test_a_header_longer_than_the_body_is_refused(length: int) -> None:
    with pytest.raises(InputError, match=f"says {length}, expected at most 2"):
        decode_infer(b"{}", length, ONE, most_elements=1)


def test_a_header_that_ends_in_the_middle_is_no_json() -> None:
    with pytest.raises(InputError, match="not JSON"):
        decode_infer(body([]), 5, ONE, most_elements=1)


def test_too_many_elements_are_refused_before_they_are_read() -> None:
    text = body([json_input("x", [2, 3], ["not even numbers"])])
    assert issubclass(TooLarge, InputError)
    with pytest.raises(TooLarge, match="6 elements or more, at most 5"):
        decoded(text, most=5)
    pair = body([json_input("a", [1, 3], [1, 2, 3]), json_input("b", [1, 3], [1, 2, 3])])
    assert set(decoded(pair, of=TWO, most=6).feed) == {"a", "b"}
    with pytest.raises(TooLarge):
        decoded(pair, of=TWO, most=5)


def test_a_million_wrong_names_get_a_short_answer() -> None:
    text = body([json_input(f"wrong{n}", [1], [1]) for n in range(100_000)])
    assert problems(text) == ["the request has 100,000 inputs, the model takes 1: x"]
    few = problems(body([json_input(f"wrong{n}", [1], [1]) for n in range(65)], outputs=[{"name": "z"}] * 9))
    assert len(few) == 65
    assert few[-1] == "and 11 more problems"


def test_a_name_of_a_megabyte_gets_a_short_answer() -> None:
    lines = problems(body([json_input("x" * 10**6 + "\n", [1], [1])]))
    assert max(map(len, lines)) < 300 and not any("\n" in line for line in lines)


# ── hostile bytes ─────────────────────────────────────────────────────────────────────────────────────────

MANY = Signature.of(
    [
        made.spec("x", "float32", ["batch", 3]), made.spec("i", "int64", ["batch"]),
        made.spec("b", "bool", [None]), made.spec("t", "string", ["n"]),
    ],
    [made.spec("y", "float32", ["batch", 4])],
)  # fmt: skip


def valid() -> tuple[bytes, int]:
    text = body(
        [
            binary_input("x", [2, 3], 24),
            json_input("i", [2], [1, -(2**63)], "INT64"),
            binary_input("b", [3], 3, "BOOL"),
            binary_input("t", [2], 10, "BYTES"),
        ],
        id="é",
        parameters={"timeout": 5, "binary_data_output": True},
        outputs=[{"name": "y", "parameters": {"classification": 1}}],
    )
    tail = X.tobytes() + b"\x01\x00\x01" + b"\x01\x00\x00\x00a\x01\x00\x00\x00b"
    return text + tail, len(text)


WILD: list[Any] = [
    None, True, -1, 0, 2**31, 2**62, 2**63, 2**64, 1e308, "", "x", "\u0000", "FP32", "BYTES", [], [[]], {},
    [-1], [2**62, 2**62], [0] * 40, {"binary_data_size": 7}, float("nan"), float("inf"), "\ud800",
]  # fmt: skip


def mutated(rng: random.Random, value: Any) -> Any:
    """The same JSON with one thing in it changed."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: mutated(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        if rng.random() < 0.15:
            return value[:at] + value[at + 1 :] if rng.random() < 0.5 else [*value, value[at]]
        return [*value[:at], mutated(rng, value[at]), *value[at + 1 :]]
    return rng.choice(WILD)


def test_changed_requests_are_read_or_refused_and_nothing_else() -> None:
    rng = random.Random(7)
    whole, length = valid()
    assert decode_infer(whole, length, MANY, most_elements=99).feed["t"].tolist() == ["a", "b"]
    read = 0
    tracemalloc.start()
    for _ in range(3000):
        text, tail = whole[:length], bytearray(whole[length:])
        for _ in range(rng.randint(0, 2)):
            text = json.dumps(mutated(rng, json.loads(text))).encode()
        if rng.random() < 0.4:
            tail[rng.randrange(len(tail))] = rng.randrange(256)
        if rng.random() < 0.1:
            tail = tail[: rng.randrange(len(tail))]
        header = len(text) + (rng.randint(-3, 3) if rng.random() < 0.1 else 0)
        with contextlib.suppress(InputError):
            request = decode_infer(text + tail, header, MANY, most_elements=99)
            assert set(request.feed) | set(request.regions) == set(MANY.inputs)
            read += 1
    assert tracemalloc.get_traced_memory()[1] < 4 * 10**6
    tracemalloc.stop()
    assert 100 < read < 2900


def test_changed_bytes_are_read_or_refused_and_nothing_else() -> None:
    rng = random.Random(8)
    whole, length = valid()
    for _ in range(3000):
        changed = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        with contextlib.suppress(InputError):
            decode_infer(bytes(changed), rng.choice([length, length, None]), MANY, most_elements=99)


@given(st.binary(max_size=60), st.one_of(st.none(), st.integers(-1, 70)))
def test_any_bytes_are_read_or_refused(data: bytes, header: int | None) -> None:
    with contextlib.suppress(InputError):
        decode_infer(data, header, ONE, most_elements=99)


@pytest.mark.parametrize("name", ["float32", "string", "int64", "bool"])
def test_a_claim_of_many_elements_takes_no_memory(name: str) -> None:
    of, word = made.signature(name, 1), made.CARRIED[name].protocol
    assert word is not None
    tracemalloc.start()
    for shape in ([10**12], [2**60]):
        for text in (body([json_input("x", shape, [], word)]), body([binary_input("x", shape, 0, word)])):
            with pytest.raises(InputError):
                decode_infer(text, len(text), of, most_elements=2**62)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


# ── alignment ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rows", [2, 20_000])
@pytest.mark.parametrize("before", [1, 2, 16])
def test_a_runner_takes_what_is_not_aligned(tmp_path: Path, rows: int, before: int) -> None:
    x = np.random.default_rng(rows).standard_normal((rows, 4), np.float32)
    text = body([binary_input("x", [rows, 4], x.nbytes)])
    text += b" " * ((before - len(text)) % 16)
    request = decode_infer(text + x.tobytes(), len(text), made.floats(x=["N", 4]), most_elements=10**6)
    assert request.feed["x"].flags.aligned is (before == 16)
    with hotlap.open(tiny.save(tiny.add(), tmp_path / "add.onnx")) as runner:
        assert made.same(runner.run(request.feed)["y"], x + x)


def test_a_runner_takes_bfloat16_that_is_not_aligned(tmp_path: Path) -> None:
    model = tiny.model(
        [tiny.node("Cast", ["x"], ["y"], to=tiny.T.FLOAT)],
        [tiny.info("x", tiny.T.BFLOAT16, ["N"])], [tiny.info("y", tiny.T.FLOAT, ["N"])],
    )  # fmt: skip
    x = np.array([1.5, -2, 0.25]).astype(ml_dtypes.bfloat16)
    text = body([binary_input("x", [3], 6, "BF16")])
    text += b" " * (len(text) % 2 + 1)
    with hotlap.open(tiny.save(model, tmp_path / "m.onnx")) as runner:
        of = Signature.of(runner.inputs, runner.outputs)
        request = decode_infer(text + x.tobytes(), len(text), of, most_elements=9)
        assert runner.run(request.feed)["y"].tolist() == [1.5, -2, 0.25]

from __future__ import annotations

import numpy as np
import pytest

from hotlap.errors import InputError, TooLarge
from hotlap.tensors import TensorSpec
from hotlap.wire import Signature, decode_infer
from tests.wire import made


def signature(dtype: str, *shape: int | str | None) -> Signature:
    return Signature.of([made.spec("x", dtype, shape)], [made.spec("y", "float32", ["batch", 4])])


def refused(body: bytes, of: Signature) -> str:
    with pytest.raises(InputError) as caught:
        decode_infer(body, 0, of, most_elements=100)
    return str(caught.value)


@pytest.mark.parametrize(
    ("declared", "shape"),
    [
        (("batch", 3), (2, 3)),
        ((2, 3), (2, 3)),
        ((2, "n"), (2, 3)),
        (("batch", 2, "n"), (1, 2, 3)),
        (("n",), (6,)),
    ],
)
def test_the_whole_body_is_the_tensor(declared: tuple, shape: tuple[int, ...]) -> None:
    array = np.arange(6, dtype=np.int64).reshape(shape)
    request = decode_infer(array.tobytes(), 0, signature("int64", *declared), most_elements=6)
    assert made.same(request.feed["x"], array)
    assert request.binary and request.outputs == () and request.nbytes == 48
    assert not request.feed["x"].flags.writeable


def test_a_view_on_a_buffer_will_do_and_cannot_be_written() -> None:
    view = memoryview(bytearray(np.arange(3, dtype=np.float32).tobytes()))
    array = decode_infer(view, 0, signature("float32", "n"), most_elements=6).feed["x"]
    assert array.tolist() == [0, 1, 2] and not array.flags.writeable


def test_a_model_of_any_shape_gets_one_axis() -> None:
    of = Signature.of([TensorSpec("x", "tensor(uint8)", ranked=False)], [made.spec("y", "float32", [1])])
    assert decode_infer(b"abc", 0, of, most_elements=9).feed["x"].tolist() == [97, 98, 99]


def test_nothing_is_no_rows() -> None:
    assert decode_infer(b"", 0, signature("float32", "n", 3), most_elements=9).feed["x"].shape == (0, 3)
    assert decode_infer(b"", 0, signature("float32", "n", 0), most_elements=9).feed["x"].shape == (1, 0)


@pytest.mark.parametrize("declared", [(1,), (1, 1), ("batch", 1), ()])
def test_a_body_of_text_is_one_cell_without_its_length(declared: tuple) -> None:
    found = decode_infer("hé".encode(), 0, signature("string", *declared), most_elements=1).feed["x"]
    assert found.shape == (1,) * len(declared)
    assert found.ravel().tolist() == ["hé"]


def test_what_the_bytes_cannot_say_is_refused() -> None:
    pair = Signature.of(
        [made.spec("a", "float32", [1]), made.spec("b", "float32", [1])], [made.spec("y", "float32", [1])]
    )
    assert refused(b"", pair).endswith('the model has 2: "a", "b"')
    said = 'input "x": the bytes alone do not say the shape of float32[?, ?, ?]: send a header'
    assert refused(bytes(8), signature("float32", None, None, None)) == said
    said = 'input "x": 10 bytes are no whole number of the 12 that float32[n, 3] takes'
    assert refused(bytes(10), signature("float32", "n", 3)) == said
    assert refused(bytes(8), signature("float32", 3)).endswith("got 8 bytes, FP32 of shape [3] takes 12")
    assert refused(b"a", signature("string", 2)) == 'input "x": the body is one text, expected string[2]'
    assert refused(b"\xff", signature("string", 1)) == 'input "x": the body is not UTF-8'


def test_too_many_elements_are_refused() -> None:
    with pytest.raises(TooLarge, match="101 elements or more, at most 100"):
        decode_infer(bytes(101), 0, signature("int8", "n"), most_elements=100)

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.errors import ModelError
from hotlap.model import pieces as module
from hotlap.model.pieces import pieces


def read(tensor: Any, folder: Path = Path()) -> bytes:
    return b"".join(map(bytes, pieces(tensor, folder)))


KINDS = [
    np.float32, np.uint8, np.int8, np.uint16, np.int16, np.int32, np.int64, np.bool_, np.float16, np.float64,
    np.uint32, np.uint64, np.complex64, np.complex128, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4,
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_raw_and_typed_fields_give_the_same_bytes(kind: Any) -> None:
    values = np.array([0, 1, 1, 0, 1]).astype(kind)
    raw = numpy_helper.from_array(values)
    typed = helper.make_tensor("", raw.data_type, [5], values.tolist())
    assert raw.HasField("raw_data") and not typed.HasField("raw_data")
    assert read(raw) == read(typed) == raw.raw_data != b""


def test_negative_numbers_keep_their_sign() -> None:
    for kind in (np.int8, np.int16, np.int32, np.int64):
        values = np.array([-1, np.iinfo(kind).min, np.iinfo(kind).max], kind)
        assert read(helper.make_tensor("", helper.np_dtype_to_tensor_dtype(values.dtype), [3], values)) == (
            values.tobytes()
        )


def test_text_comes_with_its_lengths() -> None:
    a, b = (helper.make_tensor("", T.STRING, [2], words) for words in ([b"ab", b"c"], [b"a", b"bc"]))
    assert read(a) != read(b)


def test_no_piece_is_large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "PIECE", 16)
    values = np.arange(10, dtype=np.float32)
    assert [len(p) for p in pieces(numpy_helper.from_array(values), tmp_path)] == [16, 16, 8]
    (tmp_path / "w.bin").write_bytes(b"head" + values.tobytes() + b"tail")
    outside = external(location="w.bin", offset="4", length="40")
    assert [len(p) for p in pieces(outside, tmp_path)] == [16, 16, 8]
    assert read(outside, tmp_path) == values.tobytes()


def external(**entries: str) -> Any:
    tensor = T(name="w", data_type=T.FLOAT, dims=[10], data_location=T.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def test_without_a_length_it_is_as_long_as_it_must_be(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(range(100)))
    assert read(external(location="w.bin"), tmp_path) == bytes(range(40))


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"location": "no.bin"}, "is missing"),
        ({"location": "../w.bin"}, "outside of its own folder"),
        ({"location": "w.bin", "offset": "70"}, "lacks 10 bytes"),
        ({"location": "w.bin", "offset": "-1"}, "no readable place"),
        ({"location": "w.bin", "length": "39"}, "needs 40 bytes and points to 39"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, entries: dict[str, str], said: str) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(100))
    with pytest.raises(ModelError, match=said):
        read(external(**entries), tmp_path)

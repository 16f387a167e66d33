from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.model.numbers import Numbers


def added(values: npt.NDArray[Any], dtype: str, parts: int = 1) -> Numbers:
    numbers = Numbers(dtype)
    for part in np.array_split(values, parts):
        numbers.add(part.tobytes())
    return numbers


@given(
    st.sampled_from([np.float16, np.float32, np.float64]).flatmap(
        lambda kind: arrays.arrays(kind, st.integers(0, 20))
    ),
    st.integers(1, 3),
)
def test_it_is_what_numpy_says(values: npt.NDArray[Any], parts: int) -> None:
    found = added(values, values.dtype.name, parts)
    finite = values[np.isfinite(values)]
    magnitude = np.abs(finite[finite != 0])
    assert found.nan == np.isnan(values).sum()
    assert found.inf == np.isinf(values).sum()
    assert found.denormal == (magnitude < np.finfo(values.dtype).tiny).sum()
    assert found.low == (float(finite.min()) if finite.size else None)
    assert found.high == (float(finite.max()) if finite.size else None)
    assert found.smallest == (float(magnitude.min()) if magnitude.size else None)


@given(arrays.arrays(np.float32, st.integers(0, 20)))
def test_the_short_brain_float_is_the_upper_half_of_a_float(values: npt.NDArray[np.float32]) -> None:
    upper = (values.view("<u4") >> np.uint32(16)).astype("<u2")
    wide = (upper.astype("<u4") << np.uint32(16)).view("<f4")
    found, expected = added(upper, "bfloat16"), added(wide, "float32")
    expected.dtype = "bfloat16"
    assert found == expected


def test_planted_kinds() -> None:
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-45, 1.5, -2.5], np.float32)
    found = added(values, "float32")
    assert (found.nan, found.inf, found.denormal) == (2, 2, 2)
    assert (found.low, found.high) == (-2.5, 1.5)
    assert found.smallest == float(np.float32(1e-45))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_have_extremes_only(kind: str) -> None:
    info = np.iinfo(kind)
    found = added(np.array([info.min, 0, info.max], kind), kind, 2)
    assert found == Numbers(kind, low=int(info.min), high=int(info.max))


@pytest.mark.parametrize("dtype", ["bool", "string", "complex64", "float8_e4m3fn", "int4", "unknown"])
def test_what_is_no_number_here_has_nothing(dtype: str) -> None:
    found = Numbers(dtype)
    found.add(b"\x01\x02\x03\x04")
    assert found == Numbers(dtype)


def test_half_an_element_at_the_end_is_left_out() -> None:
    found = Numbers("float32")
    found.add(np.array([1.0], np.float32).tobytes() + b"\xff\xff")
    assert found == Numbers("float32", low=1.0, high=1.0, smallest=1.0)

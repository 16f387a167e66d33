from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import numpy_helper

from hotlap.model.sizes import dtype_of, elements, stored_bytes


@pytest.mark.parametrize(
    ("kind", "dims", "size"),
    [
        (T.FLOAT, [2, 3], 24),
        (T.FLOAT, [], 4),
        (T.FLOAT, [0, 3], 0),
        (T.BOOL, [3], 3),
        (T.INT4, [3], 2),
        (T.UINT2, [5], 2),
        (T.FLOAT8E4M3FN, [3], 3),
        (T.COMPLEX128, [2], 32),
        (T.STRING, [2], None),
        (99, [2], None),
        (T.FLOAT, [-1, 3], 0),
    ],
)
def test_bytes_by_type_and_shape(kind: int, dims: list[int], size: int | None) -> None:
    assert stored_bytes(T(data_type=kind, dims=dims)) == size


def test_names_and_counts() -> None:
    tensor = numpy_helper.from_array(np.ones((2, 5), np.float16))
    found = dtype_of(tensor)
    assert found is not None and found.name == "float16" and elements(tensor) == 10
    assert dtype_of(T(data_type=99)) is None

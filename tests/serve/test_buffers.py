from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hotlap
from hotlap.errors import InputError, UsageError
from hotlap.serve.buffers import Buffers
from hotlap.tensors import TensorSpec
from tests import tiny
from tests.serve import made


def test_an_array_is_kept_for_its_shape() -> None:
    buffers = Buffers(made.fake())
    two, three = buffers.array("x", (2, 4)), buffers.array("x", (3, 4))
    assert (two.shape, two.dtype, three.shape) == ((2, 4), np.float32, (3, 4))
    assert buffers.array("x", (2, 4)) is two


def test_so_many_are_kept_and_the_oldest_go() -> None:
    buffers = Buffers(made.fake())
    first, second = buffers.array("x", (1, 4)), buffers.array("x", (2, 4))
    for rows in range(3, 17):
        buffers.array("x", (rows, 4))
    assert buffers.array("x", (1, 4)) is first  # the newest now
    buffers.array("x", (17, 4))
    assert buffers.array("x", (2, 4)) is not second


def test_a_large_one_is_not_kept() -> None:
    buffers = Buffers(made.fake())
    shape = (1 << 19, 4)
    assert buffers.array("x", shape) is not buffers.array("x", shape)


def test_the_model_reads_it_where_it_is(tmp_path: Path) -> None:
    model = tiny.save(tiny.add(), tmp_path / "m.onnx")
    with hotlap.open(model) as runner:
        array = Buffers(runner).array("x", (2, 4))
        for value in (1.0, 2.0, 3.0):
            array[...] = value
            np.testing.assert_array_equal(runner.run({"x": array})["y"], made.rows(2 * value, 2 * value))


def test_text_has_arrays_of_its_own() -> None:
    buffers = Buffers(made.fake(inputs=[TensorSpec.of("t", "string", ["N"])]))
    assert buffers.array("t", (3,), np.dtype(object)).dtype == object
    with pytest.raises(UsageError, match='input "t": string cannot be read from shared memory'):
        buffers.array("t", (3,))


def test_types_that_numpy_lacks_are_those_of_ml_dtypes() -> None:
    types = pytest.importorskip("ml_dtypes")
    buffers = Buffers(made.fake(inputs=[TensorSpec.of("x", "bfloat16", ["N"])]))
    array = buffers.array("x", (3,))
    assert (array.shape, array.dtype) == ((3,), types.bfloat16)


def test_a_shape_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError):
        Buffers(made.fake()).array("x", (2, 5))

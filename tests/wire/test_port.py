from __future__ import annotations

import sys

import numpy as np
import pytest

from hotlap.errors import Unavailable
from hotlap.tensors import TensorSpec
from hotlap.wire.port import Port, element_spec
from hotlap.wire.problems import Wrong
from tests.wire import made


def port(dtype: str = "float32", shape: tuple[int | str | None, ...] = ("batch", 3)) -> Port:
    return Port(made.spec("x", dtype, shape))


def refused(port: Port, shape: tuple[int, ...]) -> str:
    with pytest.raises(Wrong) as caught:
        port.count(shape)
    return str(caught.value)


@pytest.mark.parametrize("name", made.CARRIED)
def test_it_knows_the_type_under_each_of_its_names(name: str) -> None:
    found = port(name)
    assert (found.name, found.datatype) == ("x", made.CARRIED[name].protocol)
    assert found.numpy == made.numpy_of(name)
    assert found.itemsize == (0 if name == "string" else made.numpy_of(name).itemsize)
    assert found.text is (name == "string")
    assert found.any_bytes is (name not in ("string", "bool"))


def test_without_ml_dtypes_a_type_that_numpy_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(Unavailable, match="pip install ml-dtypes"):
        port("bfloat16")


def test_shapes_are_counted_the_same_twice() -> None:
    found = port()
    assert [found.count((2, 3)), found.count((2, 3)), found.count((0, 3))] == [6, 6, 0]


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((2, 4), "axis 1 has size 4, expected 3: float32[batch, 3]"),
        ((3,), "got 1 axes [3], expected 2: float32[batch, 3]"),
        ((-1, 3), "shape [-1, 3] has a negative size, expected float32[batch, 3]"),
        ((2**61, 3), "shape [2305843009213693952, 3] is larger than any memory"),
        ((1,) * 33, "shape has 33 axes, expected float32[batch, 3]"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_every_time(shape: tuple[int, ...], said: str) -> None:
    found = port()
    assert refused(found, shape).startswith(said)
    assert refused(found, shape).startswith(said)


def test_axes_of_one_name_must_be_equal() -> None:
    assert "has size 3" in refused(port(shape=("n", "n")), (2, 3))


@pytest.mark.parametrize("shape", [(-1, -1), (0, 2**62, 2**62), (2**32, 2**32)])
def test_a_model_that_takes_any_shape_takes_no_impossible_one(shape: tuple[int, ...]) -> None:
    unranked = Port(TensorSpec("x", "tensor(float)", ranked=False))
    assert unranked.count((4, 5)) == 20
    assert refused(unranked, shape).startswith("shape [")


def test_no_more_than_so_many_shapes_are_remembered() -> None:
    found = port()
    for rows in range(3000):
        assert found.count((rows, 3)) == rows * 3
        found.head((rows, 3))
    assert len(found.counts) == len(found._heads) == 1024


@pytest.mark.parametrize("name", made.CARRIED)
@pytest.mark.parametrize("before", [0, 1, 3])
def test_bytes_become_the_array_wherever_they_lie(name: str, before: int) -> None:
    array = made.values(name, (2, 3))
    found = port(name)
    data = found.pack(array)
    view = found.view((2, 3), 6, b"\xee" * before + bytes(data) + b"\xee", before, len(data))
    assert made.same(view, array)


def test_numbers_are_a_view_that_cannot_be_written() -> None:
    data = np.arange(6, dtype=np.float32).tobytes()
    view = port().view((2, 3), 6, data, 0, 24)
    assert np.shares_memory(view, np.frombuffer(data, np.uint8))
    assert not view.flags.writeable
    assert view.dtype is np.dtype(np.float32)


def test_a_size_that_is_not_the_shapes_is_refused() -> None:
    with pytest.raises(Wrong, match=r"got 20 bytes, FP32 of shape \[2, 3\] takes 24"):
        port().view((2, 3), 6, bytes(24), 0, 20)


def test_a_bool_is_0_or_1() -> None:
    found = port("bool", (None,))
    assert found.view((3,), 3, b"\x00\x01\x01", 0, 3).tolist() == [False, True, True]
    assert found.view((0,), 0, b"", 0, 0).tolist() == []
    with pytest.raises(Wrong, match="other than 0 and 1"):
        found.view((2,), 2, b"\x01\x02", 0, 2)


def test_the_head_names_the_tensor_as_json() -> None:
    quoted = Port(made.spec('a"b', "float32", [None]))
    assert quoted.head((7,)) == b'{"name":"a\\"b","datatype":"FP32","shape":[7]'
    assert quoted.head(()) == b'{"name":"a\\"b","datatype":"FP32","shape":[]'


@pytest.mark.parametrize("name", ["float32", "bfloat16", "bool"])
def test_many_bytes_are_lent_and_few_are_copied(name: str) -> None:
    few, many = np.ones((4, 4), made.numpy_of(name)), np.ones((400, 400), made.numpy_of(name))
    assert port(name).pack(few) == few.tobytes()
    lent = port(name).pack(many)
    assert isinstance(lent, memoryview) and lent == many.tobytes()
    assert np.shares_memory(np.frombuffer(lent, np.uint8), many.view(np.uint8))
    assert port(name).pack(many.T) == many.T.tobytes()
    assert port(name).pack(np.asfortranarray(few)) == few.tobytes()


def test_an_optional_tensor_is_known_by_its_element() -> None:
    spec = TensorSpec("x", "optional(tensor(float))", ("n",))
    element, optional = element_spec(spec)
    assert optional and element.dtype is not None and element.dtype.protocol == "FP32"
    assert element_spec(element) == (element, False)

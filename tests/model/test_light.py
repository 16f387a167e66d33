from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.model.light import bound, light, open_axes
from tests import tiny


def test_large_and_external_tensors_lose_their_bytes_and_small_ones_keep_them() -> None:
    model = tiny.gather_mask()
    model.graph.initializer.extend(tiny.external_at("../../w.bin").graph.initializer)
    weights = {t.name: t for t in light(model).graph.initializer}
    assert (list(weights["table"].dims), weights["table"].data_type) == ([100, 8], T.FLOAT)
    assert numpy_helper.to_array(weights["ax"]).tolist() == [2]
    large = tiny.gather_mask(table=np.ones((300, 8), np.float32))
    (table,) = (t for t in light(large).graph.initializer if t.name == "table")
    assert (list(table.dims), table.raw_data) == ([300, 8], b"")
    assert not weights["w"].external_data and list(weights["w"].dims) == [4]


def test_inner_graphs_and_constants_too_and_the_model_is_left_as_it_was() -> None:
    model = tiny.branch()
    big = numpy_helper.from_array(np.ones(5000, np.float32))
    inner = model.graph.node[2].attribute[0].g
    inner.node.append(helper.make_node("Constant", [], ["c"], value=big))
    inner.initializer.append(numpy_helper.from_array(np.ones(5000, np.float32), "w"))
    before = model.SerializeToString()
    copy = light(model)
    assert len(copy.SerializeToString()) < 2000 < 40_000 < len(before) == len(model.SerializeToString())
    assert model.SerializeToString() == before


def test_what_the_file_says_of_inner_shapes_is_forgotten() -> None:
    model = tiny.add()
    model.graph.value_info.append(tiny.info("t", T.FLOAT, [99]))
    copy = light(model)
    assert not copy.graph.value_info
    assert not copy.graph.output[0].type.tensor_type.HasField("shape")
    assert copy.graph.output[0].type.tensor_type.elem_type == T.FLOAT


def test_symbols_and_axes_without_one() -> None:
    model = tiny.model(
        [helper.make_node("Add", ["a", "b"], ["y"])],
        [
            tiny.info("a", T.FLOAT, ["N", None, 3]),
            tiny.info("b", T.FLOAT, ["?", "", "N"]),
            tiny.info("w", T.FLOAT, ["M"]),
        ],
        [tiny.info("y", T.FLOAT, None)],
        {"w": np.ones(2, np.float32)},
    )
    assert open_axes(model) == {"N": [("a", 0), ("b", 2)], "a[1]": [("a", 1), ("b", 1)], "b[0]": [("b", 0)]}


@pytest.mark.parametrize("size", [0, 1, 7])
def test_sizes_are_bound_in_a_copy(size: int) -> None:
    model = tiny.add_pair()
    copy = bound(model, open_axes(model), {"N": size, "M": 2})
    dims = [[d.dim_value for d in v.type.tensor_type.shape.dim] for v in copy.graph.input]
    assert dims == [[size, 2], [size, 2]]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"

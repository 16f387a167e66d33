from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.model.stored import _free, stored
from hotlap.model.walk import Walk
from tests import tiny


def weight(name: str, *dims: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.ones(dims, np.float32), name)


def sparse(name: str) -> onnx.SparseTensorProto:
    indices = numpy_helper.from_array(np.array([1], np.int64))
    return helper.make_sparse_tensor(weight(name, 1), indices, [4])


def found(model: onnx.ModelProto) -> list[tuple[str, str, str, list[int]]]:
    return [(s.name, s.value, s.scope.path, list(s.tensor.dims)) for s in stored(Walk(model))]


def test_weights_constants_and_sparse_ones() -> None:
    nodes = [
        helper.make_node("Constant", [], ["c"], name="k", value=weight("", 2, 3)),
        helper.make_node("Constant", [], ["s"], name="l", sparse_value=sparse("")),
        helper.make_node("Constant", [], ["f"], value_floats=[1.0, 2.0]),
        helper.make_node("Constant", [], ["i"], value_int=3),
        helper.make_node("Constant", [], ["t"], value_string="word"),
        helper.make_node("Shape", ["x"], ["y"]),
        helper.make_node("Other", ["x"], ["z"], domain="example.com", both=[weight("", 5), weight("", 6)]),
    ]
    model = tiny.model(nodes, [tiny.info("x", T.FLOAT, ["N"])], [tiny.info("y", T.INT64, [1])])
    model.graph.initializer.append(weight("w", 7))
    model.graph.sparse_initializer.append(sparse("p"))
    assert found(model) == [
        ("w", "w", "", [7]),
        ("p", "p", "", [1]),
        ("p.indices", "", "", [1]),
        ('Constant "k".value', "c", "", [2, 3]),
        ('Constant "l".sparse_value', "s", "", [1]),
        ('Constant "l".sparse_value.indices', "", "", [1]),
        ('Constant "→ f".value_floats', "f", "", [2]),
        ('Constant "→ i".value_int', "i", "", []),
        ('Constant "→ t".value_string', "t", "", []),
        ('example.com.Other "→ z".both[0]', "", "", [5]),
        ('example.com.Other "→ z".both[1]', "", "", [6]),
    ]


def test_numbers_of_a_constant_are_the_tensor_that_they_stand_for() -> None:
    nodes = [
        helper.make_node("Constant", [], ["f"], value_floats=[1.5, 2.5]),
        helper.make_node("Constant", [], ["i"], value_ints=[3, -4]),
        helper.make_node("Constant", [], ["g"], value_float=0.5),
    ]
    model = tiny.model(nodes, [], [tiny.info("f", T.FLOAT, [2])])
    arrays = [numpy_helper.to_array(s.tensor) for s in stored(Walk(model))]
    assert [(a.dtype.name, a.tolist()) for a in arrays] == [
        ("float32", [1.5, 2.5]),
        ("int64", [3, -4]),
        ("float32", 0.5),
    ]


def test_inner_graphs_and_functions_and_every_name_is_unique() -> None:
    model = tiny.branch()
    graphs = [a.g for a in model.graph.node[2].attribute]
    for graph in graphs:
        graph.initializer.append(weight("zero", 2))
    body = [helper.make_node("Constant", [], ["y"], name="k", value=weight("", 3))]
    opset = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("own", "f", [], ["y"], body, opset))
    names = [name for name, *_ in found(model)]
    assert names == [
        "zero",
        'If "→ y" / else_branch / zero',
        'If "→ y" / then_branch / zero',
        'function f / Constant "k".value',
    ]
    # Three of one name cannot all be told apart by their place.
    model.graph.node[2].attribute[0].g.initializer.append(weight("zero", 9))
    assert len({name for name, *_ in found(model)}) == len(found(model)) == 5


def test_one_name_for_everything_is_numbered_in_one_go() -> None:
    class Counted(set[str]):
        looked = 0

        def __contains__(self, name: object) -> bool:
            self.looked += 1
            return super().__contains__(name)

    used, numbers = Counted(), dict[str, int]()
    names = []
    for _ in range(200):
        names.append(_free("w", "", used, numbers))
        used.add(names[-1])
    assert names == ["w", *(f"w ({n})" for n in range(2, 201))]
    assert used.looked < 5 * 200

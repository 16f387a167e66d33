from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.bench import Target, save_feeds
from hotlap.verify.bisect_child import BisectRequest, bisect
from tests import tiny
from tests.verify.test_bisect_child import request, with_default


def test_a_weight_that_is_also_an_input_is_a_weight(tmp_path: Path) -> None:
    ones = np.ones((2, 2), np.float32)
    one, two = (with_default("Mul", n * ones, tmp_path / f"{n}.onnx") for n in (1, 2))
    found = bisect(request(tmp_path, one, two)).found
    assert found is not None
    assert [seen.agrees for seen in found.inputs] == [True, False]
    assert found.inputs[1].said.startswith("a weight: 4 of 4 values differ")


def test_sequences_have_no_one_form_and_are_left_out(tmp_path: Path) -> None:
    nodes = [
        tiny.node("SplitToSequence", ["x"], ["parts"], axis=0),
        tiny.node("ConcatFromSequence", ["parts"], ["y"], axis=0),
    ]
    values = [tiny.info(name, T.FLOAT, ["N", 2]) for name in ("x", "y")]
    path = tiny.save(tiny.model(nodes, values[:1], values[1:]), tmp_path / "s.onnx")
    walked = bisect(request(tmp_path, path, path))
    assert walked.found is None and (walked.compared, walked.values) == (1, 2)


def test_what_is_said_of_a_value_that_was_not_compared(tmp_path: Path) -> None:
    """One side makes a value that the other has not; a sequence is on both, and has no one form."""

    def made(name: str, factor: float, part: str) -> Path:
        nodes = [
            tiny.node("Mul", ["x", "two"], [part]),
            tiny.node("SplitToSequence", [part], ["parts"], axis=0, keepdims=1),
            tiny.node("ConcatFromSequence", ["parts"], ["whole"], axis=0),
            tiny.node("Add", ["whole", part], ["y"]),
        ]
        values = [tiny.info(v, T.FLOAT, ["N", 2]) for v in ("x", "y")]
        built = tiny.model(nodes, values[:1], values[1:], {"two": np.float32(factor)})
        return tiny.save(built, tmp_path / name)

    found = bisect(request(tmp_path, made("a.onnx", 2, "p"), made("b.onnx", 3, "q"))).found
    assert found is not None and found.value == "whole"
    assert [(seen.agrees, seen.said) for seen in found.inputs] == [(None, "not looked at: no array")]


def test_texts_are_compared(tmp_path: Path) -> None:
    def made(name: str, *labels: str) -> Path:
        nodes = [
            tiny.node("ArgMax", ["x"], ["place"], axis=1, keepdims=0),
            tiny.node("Gather", ["names", "place"], ["label"], name="named"),
        ]
        built = tiny.model(
            nodes,
            [tiny.info("x", T.FLOAT, ["N", 2])],
            [tiny.info("label", T.STRING, ["N"])],
            {"names": np.array(labels, object)},
        )
        return tiny.save(built, tmp_path / name)

    one, two = made("one.onnx", "cat", "dog"), made("two.onnx", "cat", "god")
    x = np.array([[1, 0], [0, 1]], np.float32)
    found = bisect(request(tmp_path, one, two, x)).found
    assert found is not None and found.node == 'Gather "named"' and found.place == "[1]"
    assert (found.before, found.after) == ("'dog'", "'god'")
    assert [seen.agrees for seen in found.inputs] == [False, True]
    (tmp_path / "again").mkdir()
    assert bisect(request(tmp_path / "again", one, one, x)).found is None


def test_another_form_is_told_with_its_own_input_and_no_numbers(tmp_path: Path) -> None:
    """The last places differ on the first input too, where both give the same form."""

    def made(name: str, step: int, columns: int) -> Path:
        w = np.array(1.5, np.float32)
        nodes = [
            tiny.node("Mul", ["x", "w"], ["m"]),
            tiny.node("Slice", ["m", "zero", "k", "axes"], ["v"], name="cut"),
        ]
        weights = {
            "w": np.nextafter(w, np.float32(2)) if step else w,
            "zero": np.array([0]),
            "k": np.array([columns]),
            "axes": np.array([1]),
        }
        ends = [tiny.info("x", T.FLOAT, ["N", "M"])], [tiny.info("v", T.FLOAT, ["N", "K"])]
        return tiny.save(tiny.model(nodes, *ends, weights), tmp_path / name)

    xs = (np.full((1, n), 1.1, np.float32) for n in (3, 5))
    found = bisect(request(tmp_path, made("a.onnx", 0, 3), made("b.onnx", 1, 4), *xs)).found
    assert found is not None and (found.kind, found.node) == ("form", 'Slice "cut"')
    assert (found.place, found.input) == ("", 1)
    assert (found.before, found.after) == ("float32[1, 3]", "float32[1, 4]")


def sparse_scale(path: Path, values: list[float], places: list[int], size: int = 2) -> Path:
    """y = x · s, where s is stored as the values that are not 0, and their places."""
    made = tiny.model(
        [tiny.node("Mul", ["x", "s"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N", 2])],
        [tiny.info("y", T.FLOAT, ["N", 2])],
    )
    stored = numpy_helper.from_array(np.array(values, np.float32), "s")
    where = numpy_helper.from_array(np.array(places, np.int64))
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(stored, where, [size]))
    return tiny.save(made, path)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (([4.0], [0]), "a sparse weight: 1 of 1 values differ, the first[0]: 3 became 4"),
        (
            ([3.0], [1]),
            "a sparse weight: its values lie elsewhere: 1 of 1 values differ, the first[0]: 0 became 1",
        ),
        (([3.0, 1.0], [0, 1]), "a sparse weight: float32[1] became float32[2]"),
        (([3.0], [0], 1), "a sparse weight: [2] became [1]"),
    ],
)
def test_sparse_weights_are_compared(other: Any, said: str, tmp_path: Path) -> None:
    one, two = sparse_scale(tmp_path / "a.onnx", [3.0], [0]), sparse_scale(tmp_path / "b.onnx", *other)
    found = bisect(request(tmp_path, one, two)).found
    assert found is not None
    assert [(seen.agrees, seen.said) for seen in found.inputs] == [
        (True, "given from outside"),
        (False, said),
    ]


def test_a_sparse_weight_against_none(tmp_path: Path) -> None:
    dense = tiny.model(
        [tiny.node("Mul", ["x", "s"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N", 2])],
        [tiny.info("y", T.FLOAT, ["N", 2])],
        {"s": np.array([4, 0], np.float32)},
    )
    one, two = sparse_scale(tmp_path / "a.onnx", [3.0], [0]), tiny.save(dense, tmp_path / "b.onnx")
    found = bisect(request(tmp_path, one, two)).found
    assert found is not None and found.inputs[1].agrees is None
    assert found.inputs[1].said == "a sparse weight that the candidate has not"


def test_a_sparse_weight_that_is_not_finite(tmp_path: Path) -> None:
    found = bisect(request(tmp_path, sparse_scale(tmp_path / "a.onnx", [np.nan], [0]), None)).found
    assert found is not None and [seen.agrees for seen in found.inputs] == [True, False]
    assert found.inputs[1].said.startswith("a sparse weight: 1 of 1 values not finite")


def test_a_value_that_cannot_be_led_out_is_skipped_and_the_others_are_not(tmp_path: Path) -> None:
    """Text becomes no float64 on its way out of a branch."""
    graph = tiny.branch()
    for attribute in graph.graph.node[2].attribute:
        attribute.g.node.insert(
            0, tiny.node("Constant", [], [f"{attribute.name}_text"], value_string=b"no number")
        )
    path = tiny.save(graph, tmp_path / "m.onnx")
    feeds = save_feeds(tmp_path / "feeds", [{"x": np.ones(2, np.float32)}])
    target = Target.default(path)
    asked = BisectRequest(
        reference=target, candidate=target, feeds=str(feeds), home=str(tmp_path), found="", outcome=""
    )
    walked = bisect(asked)
    assert walked.found is None
    assert walked.skipped == ("then_branch_text",), "the other branch was not taken"
    assert walked.compared == walked.values - 1

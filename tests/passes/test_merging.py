from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.passes.draft import Draft
from hotlap.passes.external_weights import gathered
from hotlap.passes.merging import merge_equal
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed


def summing(weights: dict[str, Any], size: Any = 4) -> onnx.ModelProto:
    """y = x + all of the weights."""
    declared = [tiny.info(name, T.FLOAT, ["n", size]) for name in ("x", "y")]
    return tiny.model([tiny.node("Sum", ["x", *weights], ["y"])], declared[:1], declared[1:], weights)


def merged(draft: Draft) -> tuple[int, Draft]:
    proto = draft.copy()
    count = merge_equal(draft, proto)
    return count, draft.edited(proto)


def test_equal_numbers_of_one_type_and_shape(tmp_path: Path) -> None:
    one = np.arange(4, dtype=np.float32)
    model = summing({"a": one, "b": one + 1, "c": one, "d": one.reshape(1, 4), "e": one, "f": -0.0 * one})
    draft = draft_of(model, tmp_path)
    count, after = merged(draft)
    assert count == 2 and after.weights == {"a", "b", "d", "f"}
    feed = rng_feed(x=(2, 4))
    assert_same(answers(draft, feed, tmp_path), answers(after, feed, tmp_path), 0)
    assert merged(after)[0] == 0


def test_what_has_a_name_for_callers_keeps_it(tmp_path: Path) -> None:
    one = np.arange(4, dtype=np.float32)
    model = summing({"a": one, "b": one, "c": one})
    model.graph.input.append(tiny.info("a", T.FLOAT, [4]))
    model.graph.output.append(tiny.info("b", T.FLOAT, [4]))
    assert merged(draft_of(model, tmp_path))[0] == 0


@pytest.mark.parametrize("shadow", [False, True])
def test_graphs_inside_read_the_one_that_stays(shadow: bool, tmp_path: Path) -> None:
    model = tiny.branch()
    one = np.ones(1, np.float32)
    for name in ("a", "b"):
        model.graph.initializer.append(onnx.numpy_helper.from_array(one, name))
    other, then = (a.g for a in model.graph.node[2].attribute)  # in order of their names
    then.node[0].input[1] = "b"
    other.node.insert(0, tiny.node("Abs", ["x"], ["a" if shadow else "own"]))
    other.node[1].CopyFrom(tiny.node("Sub", ["a" if shadow else "own", "b"], ["e"]))
    model.graph.node.append(tiny.node("Add", ["y", "a"], ["z"]))
    model.graph.output[0].name = "z"
    draft = draft_of(model, tmp_path)
    count, after = merged(draft)
    assert count == (0 if shadow else 1)  # in there "a" is another value
    if shadow:  # ONNX allows it, its runtime does not
        return
    for sign in (1, -1):
        feed = {"x": np.full(3, sign, np.float32)}
        assert_same(answers(draft, feed, tmp_path), answers(after, feed, tmp_path), 0)


def test_weights_in_files(tmp_path: Path) -> None:
    one = np.arange(4, dtype=np.float32)
    path = tmp_path / "m.onnx"
    onnx.save_model(
        summing({"a": one, "b": one, "c": one + 1}), path,
        save_as_external_data=True, location="w", size_threshold=0,
    )  # fmt: skip
    draft = Draft.load(path)
    count, after = merged(draft)
    assert count == 1 and after.weights == {"a", "c"}
    feed = rng_feed(x=(2, 4))
    assert_same(answers(draft, feed, tmp_path), answers(after, feed, tmp_path), 0)


@pytest.mark.parametrize("length", [True, False])
def test_elements_of_4_bits_in_files(length: bool, tmp_path: Path) -> None:
    """Two share a byte, so a file holds half as many bytes as elements."""
    (tmp_path / "w").write_bytes(bytes([0x21, 0x03, 0x21, 0x03, 0x21, 0x04]))
    model = tiny.identity(T.INT4, [3], opset=21)
    for place, name in enumerate("abc"):
        tensor = model.graph.initializer.add(name=name, data_type=T.INT4, dims=[3], data_location=T.EXTERNAL)
        entries = {"location": "w", "offset": 2 * place, **({"length": 2} if length else {})}
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
    draft = draft_of(model, tmp_path)
    count, after = merged(draft)
    assert count == 1 and after.weights == {"a", "c"}
    made = gathered(draft, 0)
    (file,) = made.files.values()
    assert file.stat().st_size == 2 * 4096 + 2

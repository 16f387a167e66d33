"""Models that graph optimisers have broken for others, built small: here they come out right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.passes import Draft, Pass, apply, face
from hotlap.passes.cut import Cut
from hotlap.passes.fold import Fold
from hotlap.passes.fuse import Fuse
from hotlap.passes.weights_out_of_inputs import WeightsOutOfInputs
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed

pytestmark = pytest.mark.usefixtures("here")
Numbers = tuple[list[int], ...]
PASSES: tuple[Pass, ...] = (Fold(), Fuse(), Fuse("extended"), Cut(), WeightsOutOfInputs())


def check(model: onnx.ModelProto, feed: dict[str, Any], folder: Path) -> Draft:
    """Each pass, and all in a row, answer as the model does, behind the same face."""
    draft = draft_of(model, folder)
    expected = answers(draft, feed, folder)
    for passes in (*[[one] for one in PASSES], [*PASSES, Fold()]):
        made = apply(draft, passes).draft
        assert face.differences(draft, made) == ""
        assert_same(expected, answers(made, feed, folder))
    return made


def slices(first: dict[str, list[int]], second: dict[str, list[int]]) -> onnx.ModelProto:
    """y = x sliced twice; each slice is starts, ends, axes, steps."""
    weights = {
        f"{side}_{key}": np.array(numbers, np.int64)
        for side, given in (("a", first), ("b", second))
        for key, numbers in given.items()
    }
    names = [[f"{side}_{key}" for key in ("starts", "ends", "axes", "steps")] for side in "ab"]
    return tiny.model(
        [tiny.node("Slice", ["x", *names[0]], ["s"]), tiny.node("Slice", ["s", *names[1]], ["y"])],
        [tiny.info("x", T.FLOAT, ["N", 12])],
        [tiny.info("y", T.FLOAT, None)],
        weights,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Slices of slices: of the same axis, with steps, backwards, from the end. (OnnxSlim 277)
        (([2], [10], [1], [1]), ([1], [4], [1], [1])),
        (([2], [10], [1], [2]), ([1], [3], [1], [1])),
        (([-1], [-13], [1], [-1]), ([2], [6], [1], [2])),
        (([1], [9], [1], [1]), ([-3], [9223372036854775807], [1], [1])),
        (([0], [2], [0], [1]), ([3], [7], [1], [1])),
    ],
)
def test_slices_of_slices(
    first: tuple[list[int], ...], second: tuple[list[int], ...], tmp_path: Path
) -> None:
    keys = ("starts", "ends", "axes", "steps")
    model = slices(dict(zip(keys, first, strict=True)), dict(zip(keys, second, strict=True)))
    check(model, rng_feed(x=(3, 12)), tmp_path)


def test_a_tile_of_a_constant_does_not_fill_the_file(tmp_path: Path) -> None:  # onnxsim 178
    model = tiny.model(
        [tiny.node("Tile", ["w", "times"], ["t"]), tiny.node("Add", ["x", "t"], ["y"])],
        [tiny.info("x", T.FLOAT, [1, 300_000])],
        [tiny.info("y", T.FLOAT, [1, 300_000])],
        {"w": np.ones((1, 3), np.float32), "times": np.array([1, 100_000], np.int64)},
    )
    draft = draft_of(model, tmp_path)
    assert len(apply(draft, [Fold()]).draft.data) < 10_000
    feed = rng_feed(x=(1, 300_000))
    assert_same(answers(draft, feed, tmp_path), answers(apply(draft, [Fold()]).draft, feed, tmp_path))


def test_an_output_that_is_an_input_and_one_that_is_a_weight(tmp_path: Path) -> None:  # onnxscript 2728
    model = tiny.model(
        [tiny.node("Identity", ["x"], ["same"]), tiny.node("Identity", ["w"], ["constant"]),
         tiny.node("Relu", ["same"], ["y"])],
        [tiny.info("x", T.FLOAT, ["N"])],
        [*(tiny.info(name, T.FLOAT, ["N"]) for name in ("y", "same")), tiny.info("constant", T.FLOAT, [2])],
        {"w": np.array([1, 2], np.float32)},
    )  # fmt: skip
    check(model, rng_feed(x=(3,)), tmp_path)


def test_an_output_given_out_twice(tmp_path: Path) -> None:
    model = tiny.model(
        [
            tiny.node("Relu", ["x"], ["a"]),
            tiny.node("Identity", ["a"], ["b"]),
            tiny.node("Identity", ["a"], ["c"]),
        ],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info(name, T.FLOAT, ["N"]) for name in "abc"],
    )
    check(model, rng_feed(x=(3,)), tmp_path)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64, np.float16, np.uint8, np.bool_])
def test_folded_constants_keep_their_type(kind: Any, tmp_path: Path) -> None:  # onnx/optimizer 275
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    model = tiny.model(
        [
            tiny.node("Cast", ["w"], ["cast"], to=number),
            tiny.node("Concat", ["cast", "cast"], ["two"], axis=0),
            tiny.node("Identity", ["two"], ["y"]),
            tiny.node("Relu", ["x"], ["z"]),
        ],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("y", number, [4]), tiny.info("z", T.FLOAT, ["N"])],
        {"w": np.array([0, 1], np.float32)},
    )
    check(model, rng_feed(x=(3,)), tmp_path)


def test_whole_numbers_divide_as_onnx_says_and_not_as_numpy(tmp_path: Path) -> None:
    model = tiny.model(
        [
            tiny.node("Div", ["a", "b"], ["d"]),
            tiny.node("Mod", ["a", "b"], ["m"]),
            tiny.node("Relu", ["x"], ["z"]),
        ],
        [tiny.info("x", T.FLOAT, ["N"])],
        [tiny.info("d", T.INT64, [2]), tiny.info("m", T.INT64, [2]), tiny.info("z", T.FLOAT, ["N"])],
        {"a": np.array([-7, 7], np.int64), "b": np.array([2, -2], np.int64)},
    )
    draft = draft_of(model, tmp_path)
    feed = rng_feed(x=(3,))
    made = check(model, feed, tmp_path)
    assert_same(answers(draft, feed, tmp_path), answers(made, feed, tmp_path))


def test_names_that_inner_graphs_use_as_well(tmp_path: Path) -> None:  # onnxsim 360
    model = tiny.branch()
    for graph in (a.g for a in model.graph.node[2].attribute):
        graph.node[0].output[0] = graph.output[0].name = "inner"
        graph.node[0].name = "twice"
    for sign in (1, -1):
        folder = tmp_path / str(sign)
        folder.mkdir()
        check(model, {"x": np.full(3, sign, np.float32)}, folder)


def test_a_weight_read_by_a_normalisation_and_by_something_else(tmp_path: Path) -> None:  # onnxsim 79
    rng = np.random.default_rng(0)
    numbers = {name: rng.random(4, np.float32) + 0.5 for name in ("scale", "bias", "mean", "variance")}
    model = tiny.model(
        [
            tiny.node("Conv", ["x", "k"], ["c"]),
            tiny.node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["n"]),
            tiny.node("Conv", ["x", "k"], ["again"]),
            tiny.node("Add", ["n", "again"], ["s"]),
            tiny.node("Reshape", ["scale", "shape"], ["wide"]),
            tiny.node("Mul", ["s", "wide"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, ["N", 3, 5, 5])],
        [tiny.info("y", T.FLOAT, ["N", 4, 3, 3])],
        {"k": rng.standard_normal((4, 3, 3, 3), np.float32), "shape": np.array([1, 4, 1, 1]), **numbers},
    )
    check(model, rng_feed(x=(2, 3, 5, 5)), tmp_path)


def test_random_numbers_are_drawn_anew_and_not_folded(tmp_path: Path) -> None:
    model = tiny.model(
        [tiny.node("RandomNormal", [], ["r"], shape=[4]), tiny.node("RandomNormal", [], ["q"], shape=[4]),
         tiny.node("Sub", ["r", "q"], ["y"])],
        [],
        [tiny.info("y", T.FLOAT, [4])],
    )  # fmt: skip
    made = apply(draft_of(model, tmp_path), [Fold()]).draft
    assert np.abs(answers(made, {}, tmp_path)["y"]).max() > 0

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
from hotlap.passes.gelu import Gelu
from hotlap.passes.shrink import Shrink
from hotlap.passes.transformer import Transformer
from hotlap.passes.weights_out_of_inputs import WeightsOutOfInputs
from tests import tiny
from tests.inspect.fusions import graphs
from tests.passes.asking import answers, assert_same, draft_of, rng_feed

pytestmark = pytest.mark.usefixtures("here")
Numbers = tuple[list[int], ...]
PASSES: tuple[Pass, ...] = (
    Fold(), Fuse(), Fuse("extended"), Cut(), WeightsOutOfInputs(), Gelu(), Shrink(16),
)  # fmt: skip


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
def test_folded_constants_keep_their_type(kind: Any, tmp_path: Path) -> None:
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


# ── single rewrites that changed numbers elsewhere ────────────────────────────────────────────────────


def one(op: str, *weights: Any, x: Any, **attributes: Any) -> onnx.ModelProto:
    """y = op(relu(x), weights …); x: float32 of the axes `x`."""
    names = [f"w{number}" for number in range(len(weights))]
    return tiny.model(
        [tiny.node("Relu", ["x"], ["r"]), tiny.node(op, ["r", *names], ["y"], **attributes)],
        [tiny.info("x", T.FLOAT, x)],
        [tiny.info("y", T.FLOAT, None)],
        dict(zip(names, map(np.asarray, weights), strict=True)),
    )


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        # An Expand that does nothing to one input and widens another. (onnx/optimizer 275)
        (one("Expand", [1, 1], x=["a", "b"]), (2, 3)),
        (one("Expand", [2, 1], x=["a", "b"]), (1, 3)),
        (one("Expand", [1, 2, 1], x=["a", "b"]), (2, 3)),
        (one("Expand", [1, 3], x=[1, 3]), (1, 3)),
        # A Reshape to a shape that only looks like its input's. (282)
        (one("Reshape", [0, -1], x=["a", "b"]), (2, 3)),
        (one("Reshape", [3, 2], x=[2, 3]), (2, 3)),
        (one("Reshape", [-1, 3], x=["a", "b"]), (6, 1)),
        (one("Reshape", [0, 0], x=["a", "b"], allowzero=1), (0, 0)),
        # A Concat of one. (252)
        (one("Concat", x=["a", "b"], axis=-1), (2, 3)),
        (one("Transpose", x=["a", "b"], perm=[0, 1]), (2, 3)),
        (one("Unsqueeze", [-1, 0], x=["a", "b"]), (2, 3)),
        (one("Slice", [0], [9223372036854775807], x=["a", "b"]), (2, 3)),
        (one("Slice", [-1], [-9223372036854775808], [0], [-1], x=["a", "b"]), (2, 3)),
        (one("Pad", [0, 0, 0, 0], x=["a", "b"]), (2, 3)),
        (one("Tile", [1, 1], x=["a", "b"]), (2, 3)),
        (one("ReduceMax", x=[1, 3], axes=[0], keepdims=0), (1, 3)),
        (one("Dropout", np.float32(0.9), x=["a", "b"]), (2, 3)),
        (one("Pow", np.float32(1), x=["a", "b"]), (2, 3)),
        (one("Mul", np.ones((2, 1, 1), np.float32), x=["a", "b"]), (2, 3)),
        (one("Add", np.zeros((1, 2, 1, 1), np.float32), x=["a", "b"]), (2, 3)),
    ],
)
def test_what_does_nothing_for_some_shapes_alone(
    model: onnx.ModelProto, shape: tuple[int, ...], tmp_path: Path
) -> None:
    check(model, rng_feed(x=shape), tmp_path)


@pytest.mark.parametrize("axes", [([0], [0]), ([1], [0]), ([0], [-1]), ([-1], [-1]), ([0, 2], [1])])
def test_squeezes_in_a_row(axes: Numbers, tmp_path: Path) -> None:  # onnx/optimizer 253
    model = tiny.model(
        [tiny.node("Squeeze", ["x", "a"], ["s"]), tiny.node("Squeeze", ["s", "b"], ["y"])],
        [tiny.info("x", T.FLOAT, [1, 1, 1, 1])],
        [tiny.info("y", T.FLOAT, None)],
        {"a": np.array(axes[0]), "b": np.array(axes[1])},
    )
    check(model, rng_feed(x=(1, 1, 1, 1)), tmp_path)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("value", [0.0, -1.0])
@pytest.mark.parametrize("pads", [[0, 0, 1, 1, 0, 0, 1, 1], [0, 1, 0, 0, 0, 0, 0, 0]])
def test_a_pad_before_a_pool(op: str, value: float, pads: list[int], tmp_path: Path) -> None:  # 269
    model = tiny.model(
        [tiny.node("Pad", ["x", "p", "v"], ["q"]), tiny.node(op, ["q"], ["y"], kernel_shape=[2, 2])],
        [tiny.info("x", T.FLOAT, ["n", 3, 4, 4])],
        [tiny.info("y", T.FLOAT, None)],
        {"p": np.array(pads), "v": np.float32(value)},
    )
    check(model, {"x": rng_feed(x=(2, 3, 4, 4))["x"] - 2}, tmp_path)


def test_a_pad_before_a_convolution(tmp_path: Path) -> None:
    for value in (0.0, 3.0):
        model = tiny.model(
            [tiny.node("Pad", ["x", "p", "v"], ["q"]), tiny.node("Conv", ["q", "k"], ["y"])],
            [tiny.info("x", T.FLOAT, ["n", 3, 4, 4])],
            [tiny.info("y", T.FLOAT, None)],
            {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "v": np.float32(value), "k": graphs.normal(4, 3, 3, 3)},
        )
        check(model, rng_feed(x=(2, 3, 4, 4)), tmp_path)


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
@pytest.mark.parametrize("group", [1, 2])
def test_a_normalisation_behind_a_convolution(op: str, group: int, tmp_path: Path) -> None:  # 255
    kernel = (4, 4 // group, 3, 3)
    four = {n: np.abs(graphs.normal(4, seed=s)) + 0.1 for s, n in enumerate(("s", "b", "m", "v"))}
    model = tiny.model(
        [
            tiny.node(op, ["x", "k", "c"], ["h"], group=group),
            tiny.node("BatchNormalization", ["h", "s", "b", "m", "v"], ["y"], epsilon=1e-2),
        ],
        [tiny.info("x", T.FLOAT, ["n", 4, 5, 5])],
        [tiny.info("y", T.FLOAT, None)],
        {"k": graphs.normal(*kernel), "c": graphs.normal(4, seed=9), **four},
    )
    check(model, rng_feed(x=(2, 4, 5, 5)), tmp_path)


@pytest.mark.parametrize("free", [True, False])
def test_sizes_put_together_from_a_shape(free: bool, tmp_path: Path) -> None:  # 267, 279
    model = tiny.model(
        [
            tiny.node("Shape", ["x"], ["shape"]),
            tiny.node("Gather", ["shape", "first"], ["rows"], axis=0),
            tiny.node("Shape", ["x"], ["tail"], start=-1),
            tiny.node("Concat", ["rows", "minus", "tail"], ["target"], axis=0),
            tiny.node("Reshape", ["x", "target"], ["y"]),
            tiny.node("Identity", ["shape"], ["z"]),
        ],
        [tiny.info("x", T.FLOAT, ["a", "b", "c"] if free else [2, 3, 4])],
        [tiny.info("y", T.FLOAT, None), tiny.info("z", T.INT64, [3])],
        {"first": np.array([0]), "minus": np.array([-1])},
    )
    check(model, rng_feed(x=(2, 3, 4)), tmp_path)


# ── graphs inside, functions, outputs in the middle ───────────────────────────────────────────────────


@pytest.mark.parametrize("sure", [True, False, None])
def test_a_squeeze_in_a_branch(sure: bool | None, tmp_path: Path) -> None:  # onnxscript 2810
    """As PyTorch exports ``squeeze``: squeezed where the axis is 1, else as it is."""
    squeezed = [tiny.node("Squeeze", ["x", "axes"], ["s"])]
    axes = onnx.numpy_helper.from_array(np.array([1]), "axes")
    then = onnx.helper.make_graph(squeezed, "then", [], [tiny.info("s", T.FLOAT, None)], [axes])
    same = [tiny.node("Identity", ["x"], ["i"])]
    other = onnx.helper.make_graph(same, "other", [], [tiny.info("i", T.FLOAT, None)])
    inputs = [tiny.info("x", T.FLOAT, ["n", 1, 3])]
    if sure is None:
        inputs.append(tiny.info("c", T.BOOL, []))
    model = tiny.model(
        [tiny.node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
        inputs,
        [tiny.info("y", T.FLOAT, None)],
        {} if sure is None else {"c": np.array(sure)},
    )
    feed = rng_feed(x=(2, 1, 3))
    for condition in (True, False) if sure is None else (sure,):
        folder = tmp_path / str(condition)
        folder.mkdir()
        check(model, feed if sure is not None else {**feed, "c": np.array(condition)}, folder)


def test_a_branch_whose_answer_is_constant(tmp_path: Path) -> None:  # onnxscript 2728
    branches = []
    for number in (1.0, 2.0):
        made = [tiny.node("ConstantOfShape", ["sizes"], ["o"], value=onnx.numpy_helper.from_array(
            np.array([number], np.float32)))]  # fmt: skip
        made[0].output[0] = f"o{number:g}"
        branches.append(onnx.helper.make_graph(made, "b", [], [tiny.info(made[0].output[0], T.FLOAT, [2])]))
    model = tiny.model(
        [tiny.node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])],
        [tiny.info("c", T.BOOL, [])],
        [tiny.info("y", T.FLOAT, [2])],
        {"sizes": np.array([2])},
    )
    for condition in (True, False):
        folder = tmp_path / str(condition)
        folder.mkdir()
        check(model, {"c": np.array(condition)}, folder)


def test_a_function_with_a_constant_inside(tmp_path: Path) -> None:  # onnxscript 2673
    body = [
        tiny.node("Constant", [], ["one"], value_int=1),
        tiny.node("Cast", ["one"], ["real"], to=T.FLOAT),
        tiny.node("Sub", ["real", "a"], ["b"]),
    ]
    model = tiny.model(
        [tiny.node("Less1", ["x"], ["h"], domain="own"), tiny.node("Less1", ["h"], ["y"], domain="own")],
        [tiny.info("x", T.FLOAT, ["n"])],
        [tiny.info("y", T.FLOAT, ["n"])],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    model.functions.append(onnx.helper.make_function("own", "Less1", ["a"], ["b"], body, opsets))
    model.opset_import.append(onnx.helper.make_opsetid("own", 1))
    check(model, rng_feed(x=(3,)), tmp_path)


@pytest.mark.parametrize(
    ("parts", "values", "shape"),
    [
        (graphs.gelu(), ("d", "e", "p", "q"), (2, 3, 8)),
        (graphs.gelu("half first"), ("d", "e", "p", "q"), (2, 3, 8)),
        (graphs.layer_norm(), ("mean", "d", "sq", "var", "sd", "nrm", "sc"), (2, 3, 8)),
        (graphs.conv_batchnorm(), ("c",), (2, 8, 8, 8)),
        (graphs.conv_activation(), ("c",), (2, 8, 8, 8)),
        (graphs.matmul_add(), ("h",), (4, 8)),
    ],
)
def test_a_value_in_the_middle_of_a_pattern_is_an_output(  # onnxruntime 4110
    parts: graphs.Parts, values: tuple[str, ...], shape: tuple[int, ...], tmp_path: Path
) -> None:
    for value in values:
        folder = tmp_path / value
        folder.mkdir()
        check(parts.out(value).model(), rng_feed(x=shape), folder)


def test_the_same_pass_twice_is_applied_twice(tmp_path: Path) -> None:  # Olive 573
    draft = draft_of(graphs.conv_batchnorm().model(), tmp_path)
    applied = apply(draft, [Fuse(), Fuse(), Fold(), Fold()])
    assert [step.name for step in applied.steps] == ["fuse", "fuse", "fold", "fold"]
    assert [step.changed for step in applied.steps] == [True, False, False, False]


def test_the_sum_before_a_normalisation_keeps_its_epsilon(tmp_path: Path) -> None:
    """A node that names no epsilon has 1e-5; next to small numbers it decides. (onnxruntime 4293)"""
    draft = draft_of(graphs.skip_layer_norm().model(), tmp_path)
    made = apply(draft, [Transformer()]).draft
    assert [node.op for node in made.walk.nodes()] == ["com.microsoft.SkipLayerNormalization"]
    feed = {name: value * np.float32(1e-3) for name, value in rng_feed(p=(2, 3, 8), q=(2, 3, 8)).items()}
    assert_same(answers(draft, feed, tmp_path), answers(made, feed, tmp_path), 1e-4)

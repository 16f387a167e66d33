from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto as T
from onnx import helper

from hotlap.errors import UsageError
from hotlap.model.cost import Cost, count_at, count_cost
from hotlap.model.formula import Formula, Term
from hotlap.model.graph import load_graph
from hotlap.model.light import open_axes
from tests import tiny
from tests.real import NAMES, real

node = helper.make_node


def test_a_formula_with_the_batch_left_open() -> None:
    assert count_cost(tiny.mlp()) == Cost(
        macs=Formula((Term(640, {"batch": 1}),)),
        nbytes=Formula((Term(592, {"batch": 1}), Term(2704))),
    )


def test_the_square_of_a_length() -> None:
    model = tiny.model(
        [
            node("MatMul", ["x", "w"], ["k"]),
            node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
            node("MatMul", ["x", "kt"], ["y"]),
        ],
        [tiny.info("x", T.FLOAT, ["batch", "length", 16])],
        [tiny.info("y", T.FLOAT, None)],
        {"w": np.ones((16, 16), np.float32)},
    )
    found = count_cost(model)
    assert found.macs == Formula((Term(16, {"batch": 1, "length": 2}), Term(256, {"batch": 1, "length": 1})))
    assert str(found.macs) == "batch*length*(16*length + 256)"
    assert found.steps == {"length": 32} and found.held == {} and found.why == ""


def test_sides_that_are_halved_follow_a_formula_in_steps() -> None:
    model = tiny.model(
        [node("Conv", ["x", "k"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1])],
        [tiny.info("x", T.FLOAT, ["batch", 3, "h", "w"])],
        [tiny.info("y", T.FLOAT, None)],
        {"k": np.ones((8, 3, 3, 3), np.float32)},
    )
    found = count_cost(model)
    assert found.macs == Formula(
        (Term(54, {"batch": 1, "h": 1, "w": 1}),)
    )  # 8 * 27 on a quarter of the places
    assert found.steps == {"h": 32, "w": 32}
    assert count_at(model, {"batch": 1, "h": 33, "w": 33}).macs == 17 * 17 * 8 * 27


def test_fixed_sizes_need_no_symbol() -> None:
    assert count_cost(tiny.conv(8, 8)).macs == Formula((Term(8 * 64 * 27, {"batch": 1}),))


def test_an_axis_that_takes_one_size_alone_is_held_at_it() -> None:
    """The batch is written into a Reshape."""
    model = tiny.model(
        [node("Reshape", ["x", "s"], ["r"]), node("MatMul", ["r", "w"], ["y"])],
        [tiny.info("x", T.FLOAT, ["batch", "length", 4])],
        [tiny.info("y", T.FLOAT, None)],
        {"s": np.array([1, -1, 4]), "w": np.ones((4, 8), np.float32), "b": np.array([1])},
    )
    model.graph.node.insert(1, node("Add", ["x", "r"], ["same"]))  # only rows of 1 fit both
    model.graph.node[2].input[0] = "same"
    found = count_cost(model)
    assert found.held == {"batch": 1} and '"batch" is held at 1' in found.why
    assert found.macs == Formula((Term(32, {"length": 1}),))


def test_a_size_that_is_known_to_work_is_held_instead() -> None:
    model = tiny.model(
        [node("Reshape", ["x", "s"], ["r"]), node("MatMul", ["r", "w"], ["y"])],
        [tiny.info("x", T.FLOAT, ["batch", "length"])],
        [tiny.info("y", T.FLOAT, None)],
        {"s": np.array([-1, 48]), "w": np.ones((48, 8), np.float32)},
    )
    assert count_cost(model).why == 'Reshape "→ r": what it reads does not fit into what it makes'
    assert count_cost(model, {"length": 48}).held == {"length": 48}
    assert count_cost(model, {"length": 48}).macs == Formula((Term(384, {"batch": 1}),))


def test_what_cannot_be_told_is_none_with_the_reason() -> None:
    found = count_cost(tiny.unknown_operator())
    assert (found.macs, found.nbytes) == (None, None)
    assert "NoSuchOperator" in found.why and "no rule counts it" in found.why
    found = count_cost(tiny.sequence())
    assert found.macs == Formula() and found.nbytes is None and "SplitToSequence" in found.why


def test_it_survives_json() -> None:
    found = count_cost(tiny.conv())
    assert msgspec.json.decode(msgspec.json.encode(found), type=Cost) == found


def test_a_size_must_be_given_for_each_open_axis() -> None:
    assert count_at(tiny.mlp(), {"batch": 3}).macs == 3 * 640
    with pytest.raises(UsageError, match="sizes are missing: batch"):
        count_at(tiny.mlp(), {})


# ── against what ORT ran ──────────────────────────────────────────────────────────────────────────────


def profiled(path: Path, feed: dict[str, Any], folder: Path) -> int:
    """Multiply-adds of the shapes in ORT's own profile, nothing optimised.

    The profile does not show weights of recurrent layers and transposed convolutions: those are not in it.
    """
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    session.run(None, feed)
    total = 0
    for event in json.loads(Path(session.end_profiling()).read_text()):
        of = event.get("args", {})
        if event.get("cat") != "Node" or not event["name"].endswith("kernel_time"):
            continue
        read, written = (
            [next(iter(s.values()), []) for s in of[k]] for k in ("input_type_shape", "output_type_shape")
        )
        if of["op_name"] in ("Conv", "ConvInteger"):
            total += math.prod(written[0]) * math.prod(read[1][1:])
        elif of["op_name"] in ("MatMul", "Gemm", "MatMulInteger"):
            total += math.prod(written[0]) * read[0][-1]
    return total


LSTM = 22 * 2 * 1024 * ((1024 + 256) + (512 + 256))
"""Both layers of ddddocr on a picture 171 wide: 22 steps, 2 directions, 4 gates of 256; what a step reads."""
LEFT_OUT = {
    "ocr-det": 80 * 120 * 24 * (24 * 4) + 160 * 240 * 24 * 4,  # two transposed convolutions
    "ddddocr": LSTM,
    "ddddocr-old": LSTM,
    "captcha": -80_000,  # products of weights with weights, which are computed while it loads
}


@pytest.mark.parametrize("name", [n for n in NAMES if n != "silero"])
def test_real_models_count_as_ort_ran_them(name: str, tmp_path: Path) -> None:
    model = real(name)
    feed = model.feeds(1)[0]
    proto = load_graph(model.path)
    sizes = {s: feed[places[0][0]].shape[places[0][1]] for s, places in open_axes(proto).items()}
    found = count_at(proto, sizes)
    assert found.macs == profiled(model.path, feed, tmp_path) + LEFT_OUT.get(name, 0)
    assert found.nbytes is not None and found.nbytes > 0


def test_formulas_of_real_models_are_told_in_their_own_symbols() -> None:
    found = count_cost(load_graph(real("minilm-int8").path))
    assert found.macs is not None and str(found.macs) == "batch*sequence*(4.61k*sequence + 10.6M)"
    # Six layers: four products with 384² weights, two with 384 * 1536; then scores and values.
    assert found.macs.at({"batch": 2, "sequence": 64}) == 6 * 2 * (
        64 * (4 * 384**2 + 2 * 384 * 1536) + 2 * 64**2 * 384
    )


def test_a_branch_that_an_input_decides_is_unknown() -> None:
    found = count_cost(load_graph(real("silero").path))
    assert (found.macs, found.nbytes) == (None, None)
    assert found.why == 'If "If_0": which branch it takes hangs on its inputs'


def test_very_many_symbols_are_refused_before_their_points_are_made() -> None:
    names = [f"x{n}" for n in range(40)]
    built = tiny.model(
        [tiny.node("Relu", [n], [f"{n}_out"]) for n in names],
        [tiny.info(n, T.FLOAT, [f"n_{n}", 4]) for n in names],
        [tiny.info(f"{n}_out", T.FLOAT, [f"n_{n}", 4]) for n in names],
    )
    cost = count_cost(built)
    assert cost.macs is None and cost.why == "it is too large to be counted at enough sizes"

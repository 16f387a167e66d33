"""The rules on rows and numbers, on graphs that nobody would write, and on those that onnx calls right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.inspect.case import Case, Ran, Range
from hotlap.inspect.finding import Finding
from hotlap.inspect.rules import (
    batch_fixed_at_one,
    both_unsigned_8_bit,
    declared_shape_is_wrong,
    denormal_weights,
    dynamic_in_name_only,
    dynamically_quantised_convolution,
    float64_arithmetic,
    half_loses_a_constant,
    half_on_cpu_proves_nothing,
    half_overflows,
    half_range_near_the_edge,
    nan_weights,
    padding_changes_answers,
    rows_depend_on_neighbours,
    runs_differ,
    saturates_without_vnni,
    unfused_quantisation,
)
from hotlap.model.walk import Walk
from hotlap.plan import Facts, StuckAxis
from tests import tiny
from tests.inspect.runs import quick_case

RULES = (
    batch_fixed_at_one, both_unsigned_8_bit, declared_shape_is_wrong, denormal_weights, dynamic_in_name_only,
    dynamically_quantised_convolution, float64_arithmetic, half_loses_a_constant, half_on_cpu_proves_nothing,
    half_overflows, half_range_near_the_edge, nan_weights, padding_changes_answers, rows_depend_on_neighbours,
    runs_differ, saturates_without_vnni, unfused_quantisation,
)  # fmt: skip
BACKEND = sorted((Path(onnx.__file__).parent / "backend/test/data").rglob("*.onnx"))
OPS = (
    "Add", "ArgMax", "BatchNormalization", "Cast", "Clip", "Concat", "Constant", "ConstantOfShape",
    "Conv", "ConvInteger", "DequantizeLinear", "Div", "Dropout", "DynamicQuantizeLinear", "Expand",
    "Flatten", "Gather", "Gemm", "Identity", "If", "InstanceNormalization", "LSTM",
    "LayerNormalization", "Loop", "MatMul", "MatMulInteger", "Mul", "NoSuchOperator", "Pad",
    "QLinearConv", "QLinearMatMul", "QuantizeLinear", "ReduceMean", "Relu", "Reshape", "Resize",
    "Shape", "Slice", "Softmax", "Split", "Sqrt", "Squeeze", "Tile", "TopK", "Transpose", "Unsqueeze",
    "Where",
)  # fmt: skip
MICROSOFT = ("QGemm", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "FusedConv")
NAMES = ("x", "i", "w", "q", "s", "k", "e", "", "nowhere", *(f"v{n}" for n in range(6)))
ATTRIBUTES: dict[str, st.SearchStrategy[Any]] = {
    "axis": st.integers(-5, 5),
    "axes": st.lists(st.integers(-3, 3), min_size=1, max_size=3),
    "perm": st.lists(st.integers(-1, 3), min_size=1, max_size=4),
    "to": st.sampled_from([0, 1, 10, 11, 7, 999]),
    "epsilon": st.sampled_from([0.0, 1e-12, 1e-5]),
    "training_mode": st.integers(0, 1),
    "transB": st.integers(0, 1),
    "group": st.integers(0, 8),
    "keepdims": st.sampled_from([0, 1]),
    "stash_type": st.sampled_from([1, 10]),
    "kernel_shape": st.just("text"),
    "value": st.sampled_from([numpy_helper.from_array(np.array([v], np.float32)) for v in (0, 1, np.nan)]),
}
WEIGHTS: dict[str, Any] = {
    "w": np.full((8, 8), 1e-40, np.float32),
    "q": np.full((8, 8), 127, np.int8),
    "s": np.array([1, -1]),
    "k": np.full((8, 4, 3, 3), 127, np.int8),
    "e": np.array([0], np.float16),
}
SIZES: st.SearchStrategy[Any] = st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["n", "m", "?"]))


@st.composite
def nodes(draw: st.DrawFn) -> onnx.NodeProto:
    op = draw(st.sampled_from([*OPS, *MICROSOFT]))
    chosen = draw(st.lists(st.sampled_from(sorted(ATTRIBUTES)), max_size=3, unique=True))
    attributes = {name: draw(ATTRIBUTES[name]) for name in chosen}
    outputs = draw(st.lists(st.sampled_from(NAMES[7:]), max_size=3))
    inputs = draw(st.lists(st.sampled_from(NAMES), max_size=6))
    domain = "com.microsoft" if op in MICROSOFT else draw(st.sampled_from(["", "", "ai.onnx", "odd"]))
    built = tiny.node(
        op, inputs, outputs, name=draw(st.sampled_from(["", "a", "b"])), domain=domain, **attributes
    )
    if op in ("If", "Loop"):
        inner = helper.make_graph(
            [tiny.node("Add", ["x", "v0"], ["v1"])], "inner", [], [tiny.info("v1", 1, None)]
        )
        built.attribute.append(helper.make_attribute("body" if op == "Loop" else "then_branch", inner))
    return built


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    kinds = st.sampled_from([T.FLOAT, T.FLOAT16, T.DOUBLE, T.UINT8, T.INT8, T.INT64, T.STRING, 0])
    shapes = st.one_of(st.none(), st.lists(SIZES, max_size=4))
    values = [tiny.info(name, draw(kinds), draw(shapes)) for name in ("x", "i")]
    outputs = [tiny.info(draw(st.sampled_from(NAMES)), draw(kinds), draw(shapes))]
    built = tiny.model(
        draw(st.lists(nodes(), max_size=8)), values, outputs, WEIGHTS, draw(st.integers(0, 24))
    )
    if draw(st.booleans()):
        built.graph.initializer[0].raw_data = b"short"
    return built


def everything(model: onnx.ModelProto) -> Ran:
    """A run that has something to say to every rule."""
    facts = Facts(
        rows="dependent",
        axes={"x": 1, "nowhere": 0},
        stuck=(
            StuckAxis(input="x", axis=3, works=(1,), fails=(2,), said="Name:'a' and Name:''"),
            StuckAxis(input="nowhere", axis=0),
        ),
        shapes={"v1": (1, "n"), "nowhere": ()},
        repeats="differ",
        padding={"n": "sensitive", "x[1]": "sensitive"},
    )
    ranges = {name: Range(-1e9, 1e9) for name in NAMES[7:] if name} | {"x": Range(0, 1)}
    return Ran(facts=facts, executed=Walk(model), ranges=ranges)


def judge(case: Case) -> list[Finding]:
    findings = []
    for rule in RULES:
        if rule.RULE.needs == "graph" or case.ran is not None:
            findings += list(rule.find(case))
    return findings


@given(models())
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_no_graph_makes_a_rule_raise(model: onnx.ModelProto) -> None:
    for ran in (None, Ran(), everything(model)):
        for finding in judge(quick_case(model, ran)):
            assert finding.message and "\n" not in finding.message


@pytest.mark.parametrize("path", BACKEND, ids=lambda p: f"{p.parent.parent.name}/{p.parent.name}")
def test_what_onnx_calls_right_is_no_error(path: Path) -> None:
    model = onnx.load(path)
    assert [f for f in judge(quick_case(model)) if f.severity == "error"] == []


def test_a_thousand_nodes() -> None:
    """One long graph: a rule that looks ahead from each node must not do so for ever."""
    chain = []
    for n in range(0, 1000, 4):
        chain += [
            tiny.node("ReduceMean", [f"c{n}"], [f"m{n}"], axes=[0], name=f"mean{n}"),
            tiny.node("Sub", [f"c{n}", f"m{n}"], [f"d{n}"]),
            tiny.node("Add", [f"d{n}", "e"], [f"a{n}"]),
            tiny.node("Reshape", [f"a{n}", "s"], [f"c{n + 4}"]),
        ]
    model = tiny.model(
        chain,
        [tiny.info("c0", T.FLOAT16, ["n", 8])],
        [tiny.info("c1000", T.FLOAT16, None)],
        {"e": np.float16(0), "s": np.array([0, 8])},
    )
    ran = everything(model)
    found = [f.code for f in judge(quick_case(model, ran))]
    assert found.count("HL206") == 1 and "HL102" in found

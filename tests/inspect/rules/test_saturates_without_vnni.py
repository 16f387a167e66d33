"""HL208: sums that overflow in 16 bits, against an exact emulation of the instruction that adds them.

``vpmaddubsw`` multiplies unsigned by signed bytes and adds neighbouring pairs in 16 bits, saturating (Intel's
Software Developer's Manual, volume 2). That ORT's kernels for processors without VNNI give what `saturating`
computes, bit by bit, was seen on an emulated processor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from hotlap.inspect.case import Ran, Runtime
from hotlap.inspect.rules import saturates_without_vnni as rule
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.quantised import AFTER, dynamic_conv, dynamic_matmul, full_range, qdq_conv, qdq_matmul
from tests.inspect.runs import executed, run, with_microsoft

OLD, NEW = frozenset({"AVX2"}), frozenset({"AVX2", "VNNI"})
Array = np.ndarray[Any, Any]


def saturating(a: Array, w: Array) -> Array:
    """a (uint8[M, K]) times w (int8[K, N]) as a processor without VNNI sums it."""
    products = a.astype(np.int64)[:, :, None] * w.astype(np.int64)[None]
    if products.shape[1] % 2:
        products = np.concatenate([products, np.zeros_like(products[:, :1])], axis=1)
    pairs = products[:, 0::2] + products[:, 1::2]
    return np.clip(pairs, -32768, 32767).sum(axis=1)


def judged(features: frozenset[str] | None, **more: Any) -> dict[str, Any]:
    return {"runtime": Runtime(ort="1.32.0", features=features, **more)}


def integer(weights: Array) -> onnx.ModelProto:
    return tiny.model(
        [tiny.node("MatMulInteger", ["a", "w"], ["y"], name="product")],
        [tiny.info("a", T.UINT8, ["n", weights.shape[0]])],
        [tiny.info("y", T.INT32, None)],
        {"w": weights},
    )


def test_full_8_bit_weights_go_wrong_and_7_bit_ones_do_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(128, 256, (4, 256)).astype(np.uint8)
    for bits, wrong, findings in ((8, 0.9, 1), (7, 0.0, 0)):
        w = np.clip(rng.normal(size=(256, 8)) * 60, -127, 127) * (2 ** (bits - 1) - 1) / 127
        w = np.round(w).astype(np.int8)
        exact = a.astype(np.int64) @ w.astype(np.int64)
        share = np.mean(saturating(a, w) != exact)
        assert share >= wrong if wrong else share == 0
        assert len(found(rule, integer(w), tmp_path, **judged(OLD))) == findings


@pytest.mark.parametrize(
    ("features", "severity", "says"),
    [
        (OLD, "error", "on this CPU, which has no VNNI"),
        (NEW, "warning", "on x86 processors without VNNI (safe on this CPU)"),
        (frozenset({"NEON", "DOTPROD"}), "warning", "safe on this CPU"),
        (frozenset(), "warning", "safe on this CPU"),
        (None, "warning", "on x86 processors without VNNI"),
    ],
)
def test_the_processor_that_is_judged_for_decides(
    tmp_path: Path, features: frozenset[str] | None, severity: str, says: str
) -> None:
    [one] = found(rule, integer(full_range((64, 8))), tmp_path, **judged(features))
    assert (one.severity, one.node, one.tensor) == (severity, 'MatMulInteger "product"', "w")
    assert says in one.message and "reduce_range" in one.fix and "x64quantprecision" in one.fix


def test_a_processor_that_the_user_named(tmp_path: Path) -> None:
    [one] = found(rule, integer(full_range((64, 8))), tmp_path, **judged(OLD, cpu_named=True))
    assert "the CPU that was named" in one.message


@pytest.mark.parametrize(
    ("column", "pairs"),
    [
        ([127, 1], 0),
        ([127, 2], 1),
        ([-128, -1], 1),
        ([-128, 0], 0),
        ([127, -127], 0),
        ([0, 127, 127, 0], 0),
        ([127, 127, 0, 0], 1),
        ([127], 0),
        ([0, 0, 127], 0),
    ],
)
def test_exactly_the_pairs_that_can_overflow_are_counted(
    tmp_path: Path, column: list[int], pairs: int
) -> None:
    w = np.array(column, np.int8)[:, None]
    worst = 0
    for bits in range(2 ** len(column)):
        a = np.array([[255 * (bits >> k & 1) for k in range(len(column))]], np.uint8)
        worst += int(saturating(a, w)[0, 0] != (a.astype(int) @ w.astype(int))[0, 0])
    assert (worst > 0) == (pairs > 0)
    findings = found(rule, integer(w), tmp_path, **judged(OLD))
    said = f"{pairs} of {-(-len(column) // 2)} pairs"
    assert [said in f.message for f in findings] == ([True] if pairs else [])


def test_convolutions_are_summed_channels_last(tmp_path: Path) -> None:
    """Neighbours along the channels count, neighbours in the picture do not."""
    beside = np.zeros((8, 4, 3, 3), np.int8)
    beside[0, 0:2, 1, 1] = 127
    [one] = found(rule, qdq_conv(beside), tmp_path, **judged(OLD))
    assert "1 of 144 pairs" in one.message and one.node == 'Conv "core"'
    apart = np.zeros((8, 4, 3, 3), np.int8)
    apart[0, 0, 1, 0:2] = 127
    assert found(rule, qdq_conv(apart), tmp_path, **judged(OLD)) == []


def test_depthwise_convolutions_have_no_pairs(tmp_path: Path) -> None:
    assert found(rule, qdq_conv(full_range((4, 1, 3, 3)), group=4), tmp_path, **judged(OLD)) == []
    assert found(rule, qdq_conv(full_range((4, 2, 3, 3)), group=2), tmp_path, **judged(OLD)) != []


def test_between_dequantisers_signed_activations_are_made_unsigned(tmp_path: Path) -> None:
    model = qdq_matmul(full_range((64, 8)), np.int8(-128))
    assert len(found(rule, model, tmp_path, **judged(OLD))) == 1
    assert next(iter(executed(model, tmp_path).nodes("QLinearMatMul"))) is not None


@pytest.mark.parametrize(
    "model",
    [
        dynamic_conv(),
        tiny.mlp(),
        qdq_matmul(full_range((64, 8), bits=7)),
        qdq_matmul((full_range((64, 8)).astype(int) + 128).astype(np.uint8)),
    ],
)
def test_others_are_exact(tmp_path: Path, model: onnx.ModelProto) -> None:
    assert found(rule, model, tmp_path, **judged(OLD)) == []


def test_signed_by_signed_is_exact_outside_of_dequantisers(tmp_path: Path) -> None:
    model = integer(full_range((64, 8)))
    model.graph.input[0].type.tensor_type.elem_type = T.INT8
    assert found(rule, model, tmp_path, **judged(OLD)) == []


def test_what_stays_in_float_does_not_overflow(tmp_path: Path) -> None:
    model = qdq_conv(full_range((8, 4, 3, 3)), after=[tiny.node("Erf", ["c"], ["y"])])
    walk = executed(model, tmp_path)
    assert [n.proto.op_type for n in walk.nodes()].count("QLinearConv") == 0
    assert found(rule, model, tmp_path, ran=Ran(executed=walk), **judged(OLD)) == []
    whole = qdq_conv(full_range((8, 4, 3, 3)), after=AFTER)
    assert len(found(rule, whole, tmp_path, ran=Ran(executed=executed(whole, tmp_path)), **judged(OLD))) == 1


def test_operators_of_ort_itself(tmp_path: Path) -> None:
    nodes = [
        tiny.node(
            "QGemm", ["a", "s", "z", "w", "s", "zw"], ["y"], domain="com.microsoft", transB=1, name="g"
        ),
    ]
    w = np.zeros((8, 64), np.int8)
    w[0, 2:4] = 127
    model = with_microsoft(
        tiny.model(
            nodes,
            [tiny.info("a", T.UINT8, ["n", 64])],
            [tiny.info("y", T.FLOAT, None)],
            {"w": w, "s": np.float32(1), "z": np.uint8(0), "zw": np.int8(0)},
        )
    )
    a = np.full((1, 64), 255, np.uint8)
    assert run(model, a=a)[0][0, 0] in (255 * 254, 32767)
    [one] = found(rule, model, tmp_path, **judged(OLD))
    assert "1 of 256 pairs of weights" in one.message


def test_dynamic_quantisation_is_at_risk_too(tmp_path: Path) -> None:
    [one] = found(rule, dynamic_matmul(), tmp_path, **judged(OLD))
    assert one.node == 'MatMulInteger "product"'


def test_weights_in_another_file_are_judged_by_their_range_alone(tmp_path: Path) -> None:
    onnx.save_model(
        integer(full_range((64, 64))),
        tmp_path / "m.onnx",
        save_as_external_data=True,
        size_threshold=0,
        location="w.bin",
    )
    [one] = found(rule, tmp_path / "m.onnx", tmp_path, **judged(OLD))
    assert one.severity == "warning" and "range" in one.message

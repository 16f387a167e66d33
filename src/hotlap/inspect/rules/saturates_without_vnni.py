"""HL208: 8-bit products whose sums do not fit where the processor adds pairs in 16 bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule, Severity
from hotlap.inspect.integer import Product, products
from hotlap.model.constants import array, constant

RULE = Rule(
    code="HL208",
    name="saturates-without-vnni",
    title="Sums of 8-bit products overflow without VNNI",
    severity="warning",
)

_MOST_ACTIVATION = 255
_LARGEST, _SMALLEST = 32767, -32768
_SAFE_OPERATORS = ("ConvInteger",)
"""Its weights are the left operand, for which ORT has no such kernel: it is exact without VNNI too."""


_FLOAT_FORMS = (
    "Conv", "Gemm", "MatMul", "com.microsoft.FusedConv", "com.microsoft.FusedGemm",
    "com.microsoft.FusedMatMul", "com.microsoft.nchwc.Conv",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Risk:
    """Pairs that can overflow, of how many; of 0 where they could not be counted."""

    product: Product
    pairs: int
    of: int


def find(case: Case) -> Iterator[Finding]:
    at_risk = [p for p in products(case.walk) if _at_risk(case, p)]
    risks = [r for p in at_risk if (r := _risk(case, p)) is not None]
    counted = [r for r in risks if r.of]
    if not risks:
        return
    severity, here = _judged(case)
    worst = max(risks, key=lambda r: r.pairs / (r.of or 1))
    some = f"{len({r.product.node for r in risks})} of {len({p.node for p in at_risk})} 8-bit products"
    if counted:
        share = 100 * worst.pairs / worst.of
        what = f"{worst.product.value}: {worst.pairs:,} of {worst.of:,} pairs of weights ({share:.3g} %)"
        message = f"{some} can overflow {here}; most in {what}"
    else:
        # The weights lie in another file: their range alone is known.
        severity, message = "warning", f"{some} may overflow {here}, by the range of their weights"
    yield RULE.found(
        message,
        severity=severity,
        node=worst.product.node.label,
        tensor=worst.product.value,
        cost="wrong numbers, no message",
        fix=(
            "quantise again with reduce_range=True (7-bit weights), or set session.x64quantprecision = true, "
            "which is slower"
        ),
    )


def _judged(case: Case) -> tuple[Severity, str]:
    """The severity on the processor that is judged for, and where the sums overflow.

    Exact are processors with VNNI, those without AVX2 (ORT has an older kernel for them), and ARM's.
    """
    features = case.runtime.features
    whose = "the CPU that was named" if case.runtime.cpu_named else "this CPU"
    if features is None:
        return "warning", "on x86 processors without VNNI"
    if "VNNI" in features or "AVX2" not in features:
        return "warning", f"on x86 processors without VNNI (safe on {whose})"
    return "error", f"on {whose}, which has no VNNI"


def _at_risk(case: Case, product: Product) -> bool:
    """Whether ORT's kernel without VNNI adds pairs of these in 16 bits.

    Found by running ORT 1.32 on an emulated Haswell: unsigned by signed does, and so do signed by signed
    between DequantizeLinear nodes, since ORT makes the activations unsigned there.
    """
    if product.weights != "int8" or product.node.op in _SAFE_OPERATORS:
        return False
    if product.wrapped and _stays_float(case, product):
        return False
    return product.activations == "uint8" or product.wrapped


def _stays_float(case: Case, product: Product) -> bool:
    """Whether the executed graph still has the float operator: then nothing is multiplied as integers."""
    executed = case.ran.executed if case.ran else None
    name = product.node.proto.name
    if executed is None or not name:
        return False
    return any(n.proto.name == name for n in executed.nodes(*_FLOAT_FORMS))


def _risk(case: Case, product: Product) -> _Risk | None:
    home = case.walk.home(product.node.scope, product.value)
    path = None if home is None else home.path
    stats = next((w for w in case.weights.values() if (w.value, w.scope) == (product.value, path)), None)
    if stats is None or stats.low is None or stats.high is None:
        return None
    if _fits(2 * max(stats.high, 0.0)) and _fits(2 * min(stats.low, 0.0)):
        return None
    if stats.external:
        return _Risk(product, 0, 0)
    tensor = case.walk.constant(product.node.scope, product.value)
    weights = array(tensor) if tensor is not None else constant(case.walk, product.node.scope, product.value)
    return None if weights is None or weights.dtype != np.int8 else _counted(product, weights)


def _fits(pair: float) -> bool:
    return _SMALLEST <= pair * _MOST_ACTIVATION <= _LARGEST


def _counted(product: Product, weights: npt.NDArray[Any]) -> _Risk | None:
    rows = _summed_last(product, weights)
    if rows is None or not rows.size:
        return None
    pairs, single = rows[..., 0::2].astype(np.int16), rows[..., 1::2]
    whole = pairs[..., : single.shape[-1]]
    up = np.maximum(whole, 0) + np.maximum(single, 0)
    down = np.minimum(whole, 0) + np.minimum(single, 0)
    # 255 * 128 still fits, 255 * 129 does not; a number without a partner always fits.
    wrong = (up * np.int32(_MOST_ACTIVATION) > _LARGEST) | (down * np.int32(_MOST_ACTIVATION) < _SMALLEST)
    found = int(np.count_nonzero(wrong))
    return _Risk(product, found, pairs.size) if found else None


def _summed_last(product: Product, weights: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """The weights with the axis that is summed over last; None where the kernel has no pairs."""
    if product.kind == "conv":
        if weights.ndim < 3 or _depthwise(product, weights):
            return None
        # ORT computes 8-bit convolutions with channels last.
        return np.moveaxis(weights, 1, -1).reshape(weights.shape[0], -1)
    if weights.ndim < 2:
        return weights if weights.ndim else None
    return weights if product.kind == "transposed" else np.swapaxes(weights, -1, -2)


def _depthwise(product: Product, weights: npt.NDArray[Any]) -> bool:
    """One channel in, one out: a kernel of its own, which adds in 32 bits."""
    return bool(weights.shape[1] == 1 and product.node.attribute("group", 1) == weights.shape[0])

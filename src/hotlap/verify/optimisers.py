"""ONNX Runtime against itself: does optimising the graph change the answers, and which optimiser does?

ONNX Runtime says in its log which of its optimisers changed a graph. Those are left out, half of them a time,
until it is clear which ones make the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from hotlap.bench import Target
from hotlap.errors import TargetFailed
from hotlap.plan import ModelRef, Plan
from hotlap.runtime import file_digest
from hotlap.verify.reference import Reference

__all__ = ["RULES", "Blame", "blame", "fewest", "optimised"]

LEAVE_OUT = "optimization.disable_specified_optimizers"
RULES = (
    "CastElimination", "ClipQuantRewrite", "ConvAddFusion", "ConvBNFusion", "ConvMulFusion", "DivMulFusion",
    "EliminateDropout", "EliminateIdentity", "EliminateSlice", "ExpandElimination", "FuseReluClip",
    "GemmSumFusion", "GemmTransposeFusion", "LabelEncoderFusion", "MatMul_BatchNormalization_Fusion",
    "NoopElimination", "NotWhereFusion", "Pad_Fusion", "PreShapeNodeElimination", "ReluQuantRewrite",
    "UnsqueezeElimination",
)  # fmt: skip
"""Rules that ONNX Runtime applies together, under names such as ``Level1_RuleBasedTransformer``: its log does
not say which of them did something. Names: the strings of the binary of onnxruntime 1.32; unknown ones do no
harm."""
_CHANGED = re.compile(r"GraphTransformer (\w+) modified: 1\b")
_TOGETHER = re.compile(r"Level\d_RuleBasedTransformer")
_INFO = 1


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """Which optimisers make the difference.

    Attributes:
        optimisers: leaving these out makes the answers agree; the fewest that do. Empty: no set of them does.
        changed: those that did change the graph, with all `RULES` where any of them did.
        tried: how many sets were judged.
        already: those that the target's own plan leaves out, and that stayed left out.
    """

    optimisers: tuple[str, ...]
    changed: tuple[str, ...]
    tried: int
    already: tuple[str, ...] = ()

    @property
    def setting(self) -> str:
        """What a plan says to leave them out, the target's own included."""
        return ";".join((*self.already, *self.optimisers))


def optimised(target: Target, **session: str | int) -> Target:
    """The target with session options beside its own, and everything else as it is."""
    plan = Plan.loads(target.plan, where=target.label) if target.plan else Plan()
    model = Path(target.model)
    ref = ModelRef(path=str(model), digest=file_digest(model))
    plan = msgspec.structs.replace(plan, model=ref, session={**plan.session, **session})
    return Target.planned(plan, folder=target.plan_dir, label=target.label)


def blame(reference: Reference, target: Target, level: str = "exact") -> Blame:
    """The fewest optimisers without which the target agrees with the reference.

    Args:
        reference: the same model without optimisation.
        target: what does not agree with it.
        level: of agreement.

    Raises:
        TargetFailed: the model crashed or hung.
    """
    tried = 0
    already = _left_out(target)

    def agrees(names: Sequence[str]) -> bool:
        nonlocal tried
        tried += 1
        try:
            left_out = ";".join([*already, *names])
            return reference.judge(optimised(target, **{LEAVE_OUT: left_out}), level).passed
        except TargetFailed:  # without one of them it may not even load
            return False

    changed = _changed(reference, target)
    found = fewest(changed, agrees) if changed else []
    return Blame(optimisers=tuple(found), changed=tuple(changed), tried=tried, already=already)


def _left_out(target: Target) -> tuple[str, ...]:
    """What the target's own plan leaves out."""
    plan = Plan.loads(target.plan, where=target.label) if target.plan else Plan()
    return tuple(name for name in str(plan.session.get(LEAVE_OUT, "")).split(";") if name)


def fewest(names: Sequence[str], agrees: Callable[[Sequence[str]], bool]) -> list[str]:
    """A smallest set of names for which `agrees` is true, none of which can be spared; empty where not even
    all of them do.

    Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE TSE 28 (2002), 183:
    the algorithm ddmin.
    """
    left = list(names)
    if not agrees(left):
        return []
    parts = 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        pieces = [left[start : start + size] for start in range(0, len(left), size)]
        rests = [[n for n in left if n not in piece] for piece in pieces] if len(pieces) > 2 else []
        # The last first: an early one is often only what a later one builds on.
        smaller = next((part for part in (*reversed(pieces), *rests) if agrees(part)), None)
        if smaller is not None:
            parts = 2 if smaller in pieces else max(parts - 1, 2)
            left = smaller
        elif parts >= len(left):
            break
        else:
            parts = min(2 * parts, len(left))
    return left


def _changed(reference: Reference, target: Target) -> list[str]:
    """What the log says of a session that is made and never run."""
    log = reference.log_of(optimised(target, log_severity_level=_INFO))
    names = list(dict.fromkeys(_CHANGED.findall(log)))
    single = [name for name in names if not _TOGETHER.fullmatch(name)]
    return [*single, *RULES] if len(single) < len(names) else single

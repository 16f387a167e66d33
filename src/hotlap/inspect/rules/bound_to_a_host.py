"""HL304: a file that was saved after ONNX Runtime had optimised it for one host, or for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.executed import STAMP
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.walk import Node

RULE = Rule(
    code="HL304", name="bound-to-a-host", title="The file is bound to a kind of host", severity="warning"
)
_BLOCKED = "com.microsoft.nchwc"
_FIX = "run the model that it was made from; ONNX Runtime makes this form at each load"
_WIDE = "AVX-512F"


def find(case: Case) -> Iterator[Finding]:
    blocked = [node for node in case.walk.nodes() if node.proto.domain == _BLOCKED]
    stamp = {k.removeprefix(STAMP): v for k, v in case.anatomy.metadata.items() if k.startswith(STAMP)}
    if blocked or stamp:
        why = _other_host(case, stamp, blocked)
        yield RULE.found(
            f"saved as ONNX Runtime executes it on one kind of processor{_made_on(case, stamp)}"
            + (f": {why}" if why else ""),
            severity="error" if why else None,
            node=blocked[0].label if blocked else "",
            cost=f"{len(blocked)} nodes whose data are laid out in blocks" if blocked else "",
            fix=_FIX,
        )
    others = Counter(node.op for node in case.walk.nodes() if node.proto.domain == "com.microsoft")
    if others:
        named = ", ".join(f"{count} {op}" for op, count in others.most_common(4))
        nodes = "1 node is" if others.total() == 1 else f"{others.total()} nodes are"
        yield RULE.found(
            f"only ONNX Runtime runs it: {nodes} of its own operators ({named}"
            f"{', …' if len(others) > 4 else ''})",
            severity="info",
        )


def _made_on(case: Case, stamp: dict[str, str]) -> str:
    if not stamp:
        return ""
    version, features = stamp.get("onnxruntime", ""), stamp.get("features", "")
    other = f", not {case.runtime.ort}" if case.runtime.ort not in ("", version) else ""
    return f" (with onnxruntime {version or 'unknown'}{other}; {features or 'features unknown'})"


def _other_host(case: Case, stamp: dict[str, str], blocked: list[Node]) -> str:
    """Why the judged processor cannot run it; "" where nothing tells."""
    runtime = case.runtime
    if runtime.features is None:
        return ""
    missing = sorted(set(stamp.get("features", "").split()) - runtime.features)
    if missing:
        return f"this processor has no {', '.join(missing)}"
    block = _block(case) if blocked else None
    here = 16 if _WIDE in runtime.features else 8
    if block is not None and block != here:
        return f"its blocks are of {block} channels, this processor's are of {here}"
    return ""


def _block(case: Case) -> int | None:
    """8 where weights only fit blocks of 8 channels; a multiple of 16 fits both, and tells nothing.

    Blocks are as wide as a vector register: 16 floats with AVX-512, else 8 (onnxruntime,
    mlas/lib/platform.cpp).
    """
    for node in case.walk.nodes(f"{_BLOCKED}.Conv"):
        weight = case.walk.constant(node.scope, node.inputs[1]) if len(node.inputs) > 1 else None
        if weight is not None and weight.dims and weight.dims[0] % 16 == 8:
            return 8
    return None

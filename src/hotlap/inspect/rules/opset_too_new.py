"""HL301: a domain's opset is newer than the runtime reads."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.operators import since
from hotlap.model.walk import ONNX

RULE = Rule(
    code="HL301", name="opset-too-new", title="The opset is newer than the runtime reads", severity="error"
)
_MOST_NAMED = 4


def find(case: Case) -> Iterator[Finding]:
    runtime = case.runtime
    if not runtime.named and case.ran is not None and not case.ran.refusal:
        return  # it was loaded: the table is wrong, or the domain is not looked at
    for domain, opset in case.anatomy.opset.items():
        most = (
            runtime.max_opset if domain in ONNX else runtime.max_ml_opset if domain == "ai.onnx.ml" else None
        )
        if most is not None and opset > most:
            name = "opset" if domain in ONNX else f"opset of {domain}"
            yield RULE.found(
                f"{name} {opset} is newer than onnxruntime {runtime.ort} reads ({most} at most)"
                f"; {_blockers(case, domain, opset, most)}",
                fix=_mend(case, domain, most),
            )


def _mend(case: Case, domain: str, most: int) -> str:
    """Converting compares answers, so the runtime here must read the file; and it knows ONNX's own alone."""
    loads_here = case.runtime.named and (case.ran is None or not case.ran.refusal)
    if domain in ONNX and loads_here:
        return RULE.mend_with(str(most))
    what = "opset" if domain in ONNX else f"opset of {domain}"
    return f"export it again with {what} {most}, or install a newer onnxruntime"


def _blockers(case: Case, domain: str, opset: int, most: int) -> str:
    """Which operators got their form after what the runtime reads."""
    newer: dict[str, int] = {}
    for node in case.walk.nodes():
        if node.proto.domain == domain or {node.proto.domain, domain} <= ONNX:
            version = since(node.proto.op_type, node.proto.domain, opset)
            if version is not None and version > most:
                newer[node.op] = version
    if not newer:
        return f"no operator in it changed since opset {most}"
    named = ", ".join(f"{op} ({version})" for op, version in list(newer.items())[:_MOST_NAMED])
    return f"changed since then: {named}" + (", …" if len(newer) > _MOST_NAMED else "")

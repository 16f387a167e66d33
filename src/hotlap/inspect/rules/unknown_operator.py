"""HL303: an operator that neither ONNX, nor the runtime, nor the model itself defines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.operators import known
from hotlap.model.walk import ONNX, Node

RULE = Rule(
    code="HL303", name="unknown-operator", title="An operator that nothing here can run", severity="error"
)
_OF_ONNX = ONNX | {"ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview", "ai.onnx.preview.training"}
_OF_ORT = ("com.microsoft", "com.ms.internal", "org.pytorch.aten")
"""What domains begin with whose operators ONNX Runtime itself brings (onnxruntime, ContribOperators.md)."""
SAID = re.compile(
    r"No Op registered for (\w+) with domain_version of \d+"
    r"|(?:\S+:)?(\w+)\(\S+\) is not a registered function/op"
    r"|No opset import for domain '[^']*'"
)
"""How ONNX Runtime 1.24 to 1.32 refuses an operator; a group holds its name."""
NO_KERNEL = re.compile(r"Could not find an implementation for (\w[\w.]*)\(\d+\) node with name '(.{0,500}?)'")
"""What it says where it has the operator, but no code for it at that opset or with these types."""
_FIRST = 7
"""The first opset that ONNX Runtime runs (onnxruntime.ai, "ONNX Runtime compatibility")."""


def find(case: Case) -> Iterator[Finding]:
    refusal = "" if case.ran is None else case.ran.refusal
    if case.ran is not None and not refusal and not case.runtime.named:
        return  # it loads: whatever is in it is known
    own = {(f.domain, f.name) for f in case.walk.model.functions}
    found: dict[str, tuple[Node, str]] = {}
    counts: Counter[str] = Counter()
    for node in case.walk.nodes():
        if (node.proto.domain, node.proto.op_type) not in own and (why := _why(case, node)):
            found.setdefault(node.op, (node, why))
            counts[node.op] += 1
    for op, (node, why) in found.items():
        nodes = f"; {counts[op]} nodes" if counts[op] > 1 else ""
        yield RULE.found(f"{op}: {why}{nodes}", node=node.label, fix=_fix(node))
    said = SAID.search(refusal) or (NO_KERNEL.search(refusal) if too_old(case) else None)
    if said and not found:
        yield _refused(case, said)


def too_old(case: Case) -> bool:
    """Whether ONNX Runtime has no code for the model's opset, whatever the types."""
    opset = _own_opset(case)
    return opset is not None and opset < _FIRST


def _own_opset(case: Case) -> int | None:
    return case.walk.opset(case.walk.root, "")


def _refused(case: Case, said: re.Match[str]) -> Finding:
    """In ONNX Runtime's words: it knows more than the file alone tells."""
    op = next(filter(None, said.groups()), "")
    first = next((n.label for n in case.walk.nodes() if n.proto.op_type == op), "")
    return RULE.found(
        f"ONNX Runtime refuses an operator: {said.group()}",
        node=first,
        fix=f"export again: ONNX Runtime begins with opset {_FIRST}, this is {_own_opset(case)}"
        if too_old(case)
        else "",
    )


def _why(case: Case, node: Node) -> str:
    domain, op = node.proto.domain, node.proto.op_type
    if domain not in _OF_ONNX:
        return "" if domain.startswith(_OF_ORT) else "of a domain that neither ONNX nor ONNX Runtime knows"
    opset = case.walk.opset(node.scope, domain)
    if opset is None:
        return f"{_importer(node)} imports no opset of its domain {domain or 'ai.onnx'}"
    state = known(op, domain, opset)
    if state == "removed":
        return f"removed from ONNX before opset {opset}"
    return f"ONNX has no such operator at opset {opset}" if state == "unknown" else ""


def _importer(node: Node) -> str:
    scope = node.scope
    while scope.outer is not None:
        scope = scope.outer
    return scope.path.rstrip(" /") if scope.path else "the model"


def _fix(node: Node) -> str:
    if node.proto.domain in _OF_ONNX:
        return "export again, at an opset that has it"
    return "load the library of custom operators that brings it (a plan's custom_ops)"

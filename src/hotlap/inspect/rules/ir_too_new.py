"""HL302: the file format (IR) is newer than the runtime reads."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule

RULE = Rule(
    code="HL302",
    name="ir-too-new",
    title="The file format (IR) is newer than the runtime reads",
    severity="error",
)


def find(case: Case) -> Iterator[Finding]:
    runtime, version = case.runtime, case.anatomy.ir_version
    if not runtime.named and case.ran is not None and not case.ran.refusal:
        return
    if runtime.max_ir is not None and version > runtime.max_ir:
        yield RULE.found(
            f"IR version {version} is newer than onnxruntime {runtime.ort} reads ({runtime.max_ir} at most)",
            fix=RULE.mend,
        )

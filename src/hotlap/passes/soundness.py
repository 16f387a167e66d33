"""Whether a source is a model at all, before any pass: else a pass is blamed for what was broken before."""

from __future__ import annotations

from hotlap.errors import ModelError, TargetFailed
from hotlap.passes.draft import Draft
from hotlap.passes.lower_ir import OLD, needed_ir
from hotlap.passes.tools import run_tool

__all__ = ["check_source"]


def check_source(draft: Draft) -> None:
    """Let ONNX Runtime load a source as it lies, in a process of its own.

    A file whose IR version alone is too new passes: a pass can lower it.

    Raises:
        ModelError: it does not load: it is broken, or made for another runtime.
    """
    try:
        run_tool("load", draft)
    except TargetFailed as error:
        if draft.proto.ir_version > OLD and _loads_with_old_ir(draft):
            return
        reason = str(error).removeprefix("load: ").rstrip(". ")
        raise ModelError(f"{draft.path}: {reason}; no pass was applied") from error


def _loads_with_old_ir(draft: Draft) -> bool:
    proto = draft.copy()
    proto.ir_version = max(OLD, needed_ir(draft))
    try:
        run_tool("load", draft.edited(proto))
    except TargetFailed:
        return False
    return True

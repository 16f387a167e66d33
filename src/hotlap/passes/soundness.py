"""Whether a source is a model at all, before any pass: else a pass is blamed for what was broken before."""

from __future__ import annotations

from hotlap.errors import ModelError, TargetFailed
from hotlap.passes.draft import Draft
from hotlap.passes.lower_ir import OLD, needed_ir
from hotlap.passes.tools import run_tool

__all__ = ["check_source", "lost_to"]


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


def lost_to(before: Draft, after: Draft) -> str:
    """Why ONNX Runtime no longer loads a model that a pass changed; "" where it does, or did not before.

    It is loaded as a session of no options loads it: some of what does not fit shows only once the runtime
    itself has folded constants.
    """
    why = _refusal(after)
    return "" if why and _refusal(before) else why


def _refusal(draft: Draft) -> str:
    try:
        run_tool("load", draft, {"optimised": True})
    except TargetFailed as error:
        return str(error).removeprefix("load: ").removeprefix("ONNX Runtime does not load it: ").rstrip(". ")
    return ""


def _loads_with_old_ir(draft: Draft) -> bool:
    proto = draft.copy()
    proto.ir_version = max(OLD, needed_ir(draft))
    try:
        run_tool("load", draft.edited(proto))
    except TargetFailed:
        return False
    return True

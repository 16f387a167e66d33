"""What ONNX knows of operators: whether one exists, since when, and which outputs may be left out."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from hotlap.model.graph import onnx

__all__ = ["known", "optional_outputs", "since"]


def known(op: str, domain: str, opset: int) -> Literal["known", "unknown", "removed", "too new"]:
    """Whether ONNX defines an operator at an opset.

    Args:
        op: its name, without the domain.
        domain: "" is ONNX's own.
        opset: of the domain.

    Returns:
        "removed": it did, at a lower opset. "too new": the opset is newer than the onnx package, so an
        operator that this does not know may exist there.
    """
    schema = _schema(op, domain, opset)
    if schema is None:
        defs = onnx().defs
        newest = defs.onnx_ml_opset_version() if domain == "ai.onnx.ml" else defs.onnx_opset_version()
        return "too new" if opset > newest else "unknown"
    return "removed" if schema.deprecated else "known"


def since(op: str, domain: str, opset: int) -> int | None:
    """The opset in which the operator got its form of `opset`; None where ONNX does not know it."""
    schema = _schema(op, domain, opset)
    return None if schema is None else int(schema.since_version)


def optional_outputs(op: str, domain: str, opset: int) -> frozenset[int]:
    """Numbers of the outputs that a node may leave out."""
    schema = _schema(op, domain, opset)
    if schema is None:
        return frozenset()
    optional = onnx().defs.OpSchema.FormalParameterOption.Optional
    return frozenset(n for n, output in enumerate(schema.outputs) if output.option == optional)


@cache
def _schema(op: str, domain: str, opset: int) -> Any:
    defs = onnx().defs
    try:
        return defs.get_schema(op, opset, "" if domain == "ai.onnx" else domain)
    except (defs.SchemaError, TypeError):  # no such operator, or an opset beyond 32 bits
        return None

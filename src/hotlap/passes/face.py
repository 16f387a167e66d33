"""A model's face, its inputs and outputs with their types: told apart, compared, and put back.

Optimisers make free with it: they drop the names of axes, add sizes that held for one example only, or turn a
file's order of inputs round. What calls the model depends on all of that.
"""

from __future__ import annotations

from typing import Any

from hotlap.errors import ModelError
from hotlap.model.graph import signature
from hotlap.passes.draft import Draft

__all__ = ["differences", "restored"]


def differences(before: Draft, after: Draft) -> str:
    """The first difference between two faces, in words; "" where there is none."""
    for kind, old, new in zip(
        ("input", "output"), signature(before.proto), signature(after.proto), strict=True
    ):
        names = [s.name for s in old], [s.name for s in new]
        if names[0] != names[1]:
            return f"the {kind}s were {', '.join(names[0])} and are {', '.join(names[1])}"
        for was, is_ in zip(old, new, strict=True):
            if (was.dtype, was.label) != (is_.dtype, is_.label):
                return f'{kind} "{was.name}" was {was.label} and is {is_.label}'
    return ""


def restored(before: Draft, after: Draft, who: str) -> Draft:
    """`after` with the declarations of `before`: order, types, axes with their names.

    Raises:
        ModelError: a name or a type of `before` is not there any more.
    """
    changed = after.copy()
    left = after.weights
    for kind, old, new in (
        ("input", before.proto.graph.input, changed.graph.input),
        ("output", before.proto.graph.output, changed.graph.output),
    ):
        have = {v.name: v for v in new}
        weights = before.weights if kind == "input" else frozenset()
        # In the oldest files every weight is an input: one that a tool dropped is none to be given.
        wanted = [v for v in old if v.name not in weights or (v.name in have and v.name in left)]
        for value in wanted:
            if value.name not in have:
                raise ModelError(f'{who}: {kind} "{value.name}" is gone; nothing was kept')
            if _element(value) != _element(have[value.name]):
                raise ModelError(f'{who}: {kind} "{value.name}" has another type; nothing was kept')
        _put(new, wanted)
    changed.ir_version = max(changed.ir_version, before.proto.ir_version)
    for name in ("producer_name", "producer_version", "domain", "doc_string", "model_version"):
        setattr(changed, name, getattr(before.proto, name))
    del changed.metadata_props[:]
    changed.metadata_props.extend(before.proto.metadata_props)
    changed.graph.name = before.proto.graph.name
    return after.edited(changed)


def _put(repeated: Any, values: list[Any]) -> None:
    del repeated[:]
    repeated.extend(values)


def _element(value: Any) -> tuple[str, int]:
    kind = value.type.WhichOneof("value") or ""
    return kind, value.type.tensor_type.elem_type if kind == "tensor_type" else 0

"""Types checked in the words of a plan: each complaint names the key, what was got and what was expected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec

from hotlap.errors import PlanError
from hotlap.plan.options import named
from hotlap.tensors import nearest

__all__ = ["as_struct", "as_type", "complaint", "dotted"]

_KINDS = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false"}


def dotted(*keys: str) -> str:
    """Keys as a path: ``session."session.dynamic_block_base"``; keys that TOML must quote are quoted."""
    return ".".join(k if re.fullmatch(r"[\w\[\]-]+", k, re.ASCII) else _quoted(k) for k in keys)


def _quoted(key: str) -> str:
    return named(key).removeprefix("the text ")


def as_type(value: Any, kind: Any, where: str) -> Any:
    """The value as that type, with nothing converted but lists to tuples and whole numbers to floats.

    Args:
        kind: a scalar or a union of scalars, or a Literal of texts, or ``dict[str, kind]``, or
            ``tuple[kind, ...]``, or Any.

    Raises:
        PlanError: it does not fit.
    """
    if kind is Any or (
        isinstance(kind, type) and isinstance(value, msgspec.Struct) and isinstance(value, kind)
    ):
        return value
    if get_origin(kind) is Literal:
        words = get_args(kind)
        if not isinstance(value, str) or value not in words:
            known = " or ".join(f'"{w}"' for w in words)
            hint = nearest(value, words) if isinstance(value, str) else ""
            raise PlanError(f"{where}: expected {known}, got {named(value)}{hint}")
        return value
    if get_origin(kind) is dict:
        if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
            raise PlanError(f"{where}: expected a table, got {named(value)}")
        return {k: as_type(v, get_args(kind)[1], f"{where}.{dotted(k)}") for k, v in value.items()}
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise PlanError(f"{where}: expected a list, got {named(value)}")
        return tuple(as_type(v, get_args(kind)[0], f"{where}[{i}]") for i, v in enumerate(value))
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        raise PlanError(complaint(str(error), value, where)) from error


def as_struct(value: Any, struct: type[Any], where: str) -> Any:
    """A table as a Struct whose fields `as_type` understands; a value of that Struct stays as it is.

    Raises:
        PlanError: it is no table, has an unknown key, lacks one, or a value does not fit.
    """
    if isinstance(value, struct):
        return value
    table: dict[str, Any] = as_type(value, dict[str, Any], where)
    fields = {f.name: f for f in msgspec.structs.fields(struct)}
    for key in table:
        if key not in fields:
            raise PlanError(
                f"{where}.{dotted(key)}: unknown key{nearest(key, fields)}; known: {', '.join(fields)}"
            )
    for name, field in fields.items():
        if field.required and name not in table:
            raise PlanError(f"{where}: {name} is missing")
    return struct(**{k: as_type(v, fields[k].type, f"{where}.{k}") for k, v in table.items()})


def complaint(msgspecs: str, value: Any, where: str) -> str:
    """msgspec's ``Expected `int | null` >= 0`` as ``a whole number of at least 0``, with key and value."""
    wanted = msgspecs.removeprefix("Expected ").split(", got ")[0].split(" - at ")[0]
    kinds = wanted.replace("`", "").replace(" | null", "")
    for short, words in _KINDS.items():
        kinds = re.sub(rf"\b{short}\b", words, kinds)
    kinds = kinds.replace(" | ", " or ").replace(">= ", "of at least ").replace("<= ", "of at most ")
    return f"{where}: expected {kinds}, got {named(value)}"

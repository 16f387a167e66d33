"""The options of a provider as a table: for the documentation, for error messages, for version checks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec.inspect as mi

from hotlap.providers.provider import Provider

__all__ = ["ProviderOption", "options_of"]

_KINDS: dict[type[mi.Type], str] = {
    mi.BoolType: "true or false",
    mi.IntType: "a whole number",
    mi.StrType: "text",
    mi.DictType: "a table of texts",
}


@dataclass(frozen=True, slots=True)
class ProviderOption:
    """One option as people read it.

    Attributes:
        name: as a plan spells it.
        kind: "true or false", "a whole number", "text", "a table of texts", or "one of" with `values`.
        values: the words allowed; empty where any value of that kind is.
        low: the smallest number allowed, or None.
        default, since, numbers, holds, doc: see `hotlap.providers.provider.option`.
    """

    name: str
    kind: str
    values: tuple[str | int, ...]
    low: int | None
    default: str
    since: str
    numbers: bool
    holds: str
    doc: str


@cache
def options_of(provider: type[Provider]) -> tuple[ProviderOption, ...]:
    """Every option of a provider, in the order of its class; `extra` comes last."""
    info = mi.type_info(provider)
    assert isinstance(info, mi.StructType)
    rows = [_row(f.encode_name, f.type) for f in info.fields]
    return tuple(sorted(rows, key=lambda r: r.name == "extra"))


def _row(name: str, described: mi.Type) -> ProviderOption:
    assert isinstance(described, mi.Metadata) and described.extra and described.extra_json_schema
    extra: dict[str, Any] = described.extra
    kind, values, low = _shape(described.type)
    doc = described.extra_json_schema["description"]
    return ProviderOption(
        name, kind, values, low, extra["default"], extra["since"], extra["numbers"], extra["holds"], doc
    )


def _shape(kind: mi.Type) -> tuple[str, tuple[str | int, ...], int | None]:
    if isinstance(kind, mi.UnionType):  # "X or None": None is how Python says "not given"
        (kind,) = [t for t in kind.types if not isinstance(t, mi.NoneType)]
    if isinstance(kind, mi.LiteralType):
        return "one of", tuple(v for v in kind.values if isinstance(v, str | int)), None
    return _KINDS[type(kind)], (), kind.ge if isinstance(kind, mi.IntType) else None

"""What the tables [provider.NAME], [session] and [run] of a plan may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hotlap.errors import PlanError
from hotlap.plan.options import Option, Value
from hotlap.plan.refused import RUN_INSTEAD, SESSION_INSTEAD, UNDOCUMENTED
from hotlap.plan.run_options import RUN_OPTIONS
from hotlap.plan.session_options import SESSION_OPTIONS
from hotlap.plan.words import as_type, complaint, dotted
from hotlap.providers import PROVIDERS, Provider, provider_named
from hotlap.tensors import nearest

__all__ = ["check_provider", "check_run", "check_session", "typed_options"]


def check_provider(value: Any) -> dict[str, dict[str, Any]]:
    given: dict[str, Any] = as_type(value, dict[str, Any], "provider")
    plain = {k: msgspec.to_builtins(v) if isinstance(v, Provider) else v for k, v in given.items()}
    tables: dict[str, dict[str, Any]] = as_type(plain, dict[str, dict[str, Any]], "provider")
    checked: dict[str, dict[str, Any]] = {}
    for name in sorted(tables):
        try:
            cls = provider_named(name)
        except PlanError as error:
            raise PlanError(f"provider: {error}") from error
        if cls.name in checked:
            raise PlanError(f"provider: {cls.name} has two tables; write one")
        typed_options(cls, tables[name])
        checked[cls.name] = {k: tables[name][k] for k in sorted(tables[name])}
    return checked


def typed_options(cls: type[Provider], table: Mapping[str, Any]) -> Provider:
    """A provider's table as its typed value.

    Raises:
        PlanError: an unknown option (names the nearest, or what to write instead), a wrong type or value.
    """
    from hotlap.providers.listing import options_of  # only a plan with provider options needs the table

    rows = {o.name: o for o in options_of(cls)}
    for key in table:
        where = dotted("provider", cls.name, key)
        if key in cls.instead:
            raise PlanError(f"{where}: write instead {cls.instead[key]}")
        if key not in rows:
            raise PlanError(f"{where}: {_unknown_option(cls, key, list(rows))}")
        if values := rows[key].values:
            Option(key, "enum" if isinstance(values[0], str) else "int", "", values=values).check(
                table[key], where
            )
        if rows[key].holds == "file":
            Option(key, "path", "").check(table[key], where)
        texts = dict[str, str] if rows[key].kind == "a table of texts" else Any
        as_type(table[key], texts, where)
    value = _converted(cls, table)
    for key in value.extra:
        if key in rows or key in cls.instead:
            raise PlanError(
                f"{dotted('provider', cls.name, 'extra', key)}: hotlap knows it: write it outside of extra"
            )
    return value


def _converted(cls: type[Provider], table: Mapping[str, Any]) -> Provider:
    try:
        return msgspec.convert(table, cls, strict=True)
    except msgspec.ValidationError as error:
        found = re.search(r" - at `\$\.(.*)`$", str(error))
        assert found, f"every key of {cls.name} was checked, so the error is of a value: {error}"
        key = found.group(1)
        raise PlanError(complaint(str(error), table[key], dotted("provider", cls.name, key))) from error


def _unknown_option(cls: type[Provider], key: str, known: list[str]) -> str:
    if home := _home(key, besides=cls.name):
        return f"it belongs under {home}"
    if cls.name == "cpu":
        return "the cpu provider has no options; threads, spin and [session] set its behaviour"
    return f"unknown option{nearest(key, known)}; one that hotlap does not know yet goes under extra"


def _home(key: str, besides: str = "") -> str:
    """The table that an option belongs to, where it stands in another one; "" for an unknown option."""
    from hotlap.providers.listing import options_of

    if key in SESSION_OPTIONS:
        return "[session]"
    if key in RUN_OPTIONS:
        return "[run]"
    others = {n: p for n, p in PROVIDERS.items() if n != besides}
    homes = [n for n, p in others.items() if any(o.name == key != "extra" for o in options_of(p))]
    return " or ".join(f"[provider.{n}]" for n in homes)


def check_session(value: Any) -> dict[str, Value]:
    return _check_options(value, "session", SESSION_OPTIONS, SESSION_INSTEAD)


def check_run(value: Any) -> dict[str, Value]:
    return _check_options(value, "run", RUN_OPTIONS, RUN_INSTEAD)


def _check_options(
    value: Any, table: str, known: Mapping[str, Option], instead: Mapping[str, str]
) -> dict[str, Value]:
    given: dict[str, Any] = {}
    for key, item in _flat(as_type(value, dict[str, Any], table)):
        where = dotted(table, key)
        if key in given:
            raise PlanError(f"{where}: written twice")
        if key in instead:
            raise PlanError(f"{where}: write instead {instead[key]}")
        if key not in known:
            raise PlanError(f"{where}: {_unknown_key(key, known, instead)}")
        given[key] = known[key].check(item, where)
    return {k: given[k] for k in sorted(given)}


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """ORT's keys have dots, which TOML reads as tables unless they are quoted: both spellings are one key."""
    for key, item in table.items():
        if isinstance(item, Mapping) and item:
            yield from _flat(item, f"{before}{key}.")
        else:
            yield before + key, item


def _unknown_key(key: str, known: Mapping[str, Option], instead: Mapping[str, str]) -> str:
    if home := _home(key):
        return f"it belongs under {home}"
    if key.startswith(UNDOCUMENTED):
        return "ORT has it in its binary and in no description, so hotlap cannot check its value"
    return f"unknown option{nearest(key, [*known, *instead])}; ORT would ignore it in silence"

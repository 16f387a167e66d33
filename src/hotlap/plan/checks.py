"""What each field of a plan may hold. Every check raises a PlanError that names the key."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from hotlap.errors import PlanError
from hotlap.plan.evidence import Evidence
from hotlap.plan.facts import Facts, StuckAxis
from hotlap.plan.model_ref import External, ModelRef
from hotlap.plan.options import named
from hotlap.plan.serve import Serve
from hotlap.plan.tables import check_provider, check_run, check_session
from hotlap.plan.words import as_struct, as_type, dotted
from hotlap.providers import provider_named

__all__ = ["CHECKS", "FORMAT", "check_texts"]

FORMAT = 3
"""The newest format of a plan file, and the one that is written.

History:
    1: the first. tests/plan/formats/v1.toml stays for ever, and must always open.
    2: a table [facts], what probing learned about the model.
    3: a table [serve], how it is served.
"""

MOST_THREADS = 4096
_SPIN = re.compile(r"(\d{1,7})us", re.ASCII)


def check_format(value: Any) -> int:
    number: int = as_type(value, int, "format")
    if number > FORMAT:
        shown = number if number < 10**9 else named(number)
        raise PlanError(
            f"format: {shown} was made by a newer hotlap; this one reads up to {FORMAT}: upgrade hotlap"
        )
    if number < 1:
        raise PlanError(f"format: expected a whole number from 1 to {FORMAT}, got {named(value)}")
    return number


def check_model(value: Any) -> ModelRef | None:
    if value is None or isinstance(value, ModelRef):
        return value
    table: dict[str, Any] = as_type(value, dict[str, Any], "model")
    files: dict[str, Any] = as_type(table.get("external", {}), dict[str, Any], "model.external")
    external = {n: as_struct(f, External, f"model.external.{dotted(n)}") for n, f in files.items()}
    model: ModelRef = as_struct(table | {"external": external}, ModelRef, "model")
    return model


def check_evidence(value: Any) -> Evidence | None:
    evidence: Evidence | None = None if value is None else as_struct(value, Evidence, "evidence")
    return evidence


def check_facts(value: Any) -> Facts | None:
    if value is None or isinstance(value, Facts):
        return value
    table: dict[str, Any] = as_type(value, dict[str, Any], "facts")
    axes: tuple[Any, ...] = as_type(table.get("stuck", ()), tuple[Any, ...], "facts.stuck")
    stuck = [as_struct(a, StuckAxis, f"facts.stuck[{number}]") for number, a in enumerate(axes)]
    facts: Facts = as_struct(table | {"stuck": stuck}, Facts, "facts")
    return facts


def check_serve(value: Any) -> Serve | None:
    serve: Serve | None = None if value is None else as_struct(value, Serve, "serve")
    return serve


def check_providers(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise PlanError(
            f'providers: expected a list, got {named(value)}; write providers = ["cpu"], with brackets'
        )
    asked: tuple[str, ...] = as_type(value, tuple[str, ...], "providers")
    if not asked:
        raise PlanError('providers: the list is empty; write providers = ["cpu"]')
    try:
        names = tuple(provider_named(n).name for n in asked)
    except PlanError as error:
        raise PlanError(f"providers: {error}") from error
    if twice := repeated(names):
        raise PlanError(f'providers: "{twice}" stands there twice; name each provider once')
    if "cpu" in names[:-1]:
        raise PlanError('providers: "cpu" takes every node, so what follows would do nothing; put "cpu" last')
    return names


def check_threads(value: Any) -> int | None:
    number: int | None = as_type(value, int | None, "threads")
    if number is not None and not 1 <= number <= MOST_THREADS:
        raise PlanError(
            f"threads: expected a whole number from 1 to {MOST_THREADS}, got {named(number)};"
            " leave threads out to have hotlap decide from quota and affinity"
        )
    return number


def check_spin(value: Any) -> str:
    found = _SPIN.fullmatch(value) if isinstance(value, str) else None
    if value in ("off", "on") or (found and 1 <= int(found.group(1)) <= 1_000_000):
        return f"{int(found.group(1))}us" if found else str(value)
    raise PlanError(
        f'spin: expected "off", "on", or a time such as "100us" (1us to 1000000us), got {named(value)}'
    )


def check_warm(value: Any) -> tuple[dict[str, tuple[int, ...]], ...]:
    feeds: tuple[dict[str, tuple[int, ...]], ...] = as_type(
        value, tuple[dict[str, tuple[int, ...]], ...], "warm"
    )
    for number, feed in enumerate(feeds):
        if not feed:
            raise PlanError(f"warm[{number}]: expected a table of input names and shapes, got an empty one")
        for name, shape in feed.items():
            for size in shape:
                if not 1 <= size < 2**31:
                    raise PlanError(
                        f"{dotted(f'warm[{number}]', name)}: expected sizes of 1 or more, got {named(size)}"
                    )
    return feeds


def check_custom_ops(value: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = as_type(value, tuple[str, ...], "custom_ops")
    for name in names:
        if not name.strip():
            raise PlanError("custom_ops: a name is empty")
    if twice := repeated(names):
        raise PlanError(f"custom_ops: {named(twice)} stands there twice; name each library once")
    return names


def repeated(names: Sequence[str]) -> str | None:
    """The first name that stands there more than once."""
    return next((n for n, times in Counter(names).items() if times > 1), None)


def check_texts(value: Any, where: str) -> None:
    """Refuse characters that no file name and no TOML file can hold, anywhere below `value`."""
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
            raise PlanError(f"{where}: holds a character that cannot be stored: {named(value)}")
    elif isinstance(value, msgspec.Struct):
        check_texts(msgspec.to_builtins(value), where)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            check_texts(key, where)
            check_texts(item, dotted(where, key))
    elif isinstance(value, list | tuple):
        for item in value:
            check_texts(item, where)


CHECKS: dict[str, Callable[[Any], Any]] = {
    "format": check_format,
    "model": check_model,
    "providers": check_providers,
    "threads": check_threads,
    "spin": check_spin,
    "provider": check_provider,
    "session": check_session,
    "run": check_run,
    "warm": check_warm,
    "evidence": check_evidence,
    "facts": check_facts,
    "serve": check_serve,
    "custom_ops": check_custom_ops,
}

"""The Plan: how to run one model on one kind of machine. A frozen value; TOML on disk."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import msgspec

from hotlap.errors import PlanError
from hotlap.plan import text
from hotlap.plan.checks import CHECKS, FORMAT, check_texts
from hotlap.plan.evidence import Evidence
from hotlap.plan.facts import Facts
from hotlap.plan.files import write_whole
from hotlap.plan.model_ref import ModelRef
from hotlap.plan.options import Option, Value
from hotlap.plan.refused import PLAN_INSTEAD
from hotlap.plan.run_options import RUN_OPTIONS
from hotlap.plan.serve import Serve
from hotlap.plan.session_options import SESSION_OPTIONS
from hotlap.plan.tables import typed_options
from hotlap.plan.together import check_together
from hotlap.plan.words import dotted
from hotlap.providers import FLOOR, Provider, provider_named
from hotlap.tensors import nearest

__all__ = ["Plan"]

_LIBRARY = re.compile(r"[/\\]|\.(so|dll|dylib)", re.IGNORECASE)
"""A system's loader takes a library by any name and ending, so any path in an unknown option may be one."""


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to run one model on one kind of machine.

    Attributes:
        format: of the file; see `hotlap.plan.checks.FORMAT` for its history.
        model: the model that it is for; None: any model.
        providers: an explicit chain of hotlap's names; the first that loads and takes the nodes runs them.
        threads: intra-op threads, the calling one included; None: decided at open, from quota and affinity.
        spin: whether waiting threads stay awake: "off", "on", or for how long, e.g. "100us".
        provider: options of each provider, under ORT's own names.
        session, run: session and run options of ORT, in TOML's own types (true, not "1").
        warm: shapes of feeds to run before the first call; empty: one feed made from the signature.
        evidence: what was measured when the plan was made.
        facts: what probing learned about the model; they hold for its digest, so `model` must be given.
        serve: how it is served; None: as the defaults of `Serve`.
        custom_ops: shared libraries with operators. The caller must allow each by name at open.

    Raises:
        PlanError: an unknown name or a value that cannot be, with the nearest right one.
    """

    format: int = FORMAT
    model: ModelRef | None = None
    providers: tuple[str, ...] = ("cpu",)
    threads: int | None = None
    spin: str = "on"
    provider: dict[str, dict[str, Any]] = {}
    session: dict[str, Value] = {}
    run: dict[str, Value] = {}
    warm: tuple[dict[str, tuple[int, ...]], ...] = ()
    evidence: Evidence | None = None
    facts: Facts | None = None
    serve: Serve | None = None
    custom_ops: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # msgspec checks types only when it reads; so that a plan made in Python is as right as one read from
        # a file, both are checked here, and what is equal becomes the same (lists and tuples, long names).
        for field in self.__struct_fields__:
            value = CHECKS[field](getattr(self, field))
            check_texts(value, field)
            msgspec.structs.force_setattr(self, field, value)
        if self.facts is not None and self.model is None:
            raise PlanError("facts: are about one model, and the plan names none; add a [model] table")
        check_together(self.providers, self.threads, self.spin, self.provider, self.session, self.run)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a plan file. Nothing that it names is imported, loaded or opened.

        Raises:
            PlanError: the file is missing, no TOML, or says something unknown or impossible.
        """
        return cls.loads(text.read(path), where=os.fspath(path))

    @classmethod
    def loads(cls, toml: str, where: str = "plan") -> Plan:
        """Read a plan from TOML text; `where` names it in errors.

        Raises:
            PlanError: it is no TOML, or says something unknown or impossible.
        """
        try:
            table = text.parse(toml)
            # A newer format has keys that are unknown here; its number is the thing to tell.
            CHECKS["format"](table.get("format", FORMAT))
            for key in table:
                if key not in cls.__struct_fields__:
                    raise PlanError(f"{dotted(key)}: {_unknown(key, cls.__struct_fields__)}")
            return cls(**table)
        except PlanError as error:
            raise PlanError(f"{where}: {error}") from error

    def dumps(self) -> str:
        """The plan as TOML text, the same for equal plans. What has its default is left out."""
        table = {f: getattr(self, f) for f in self.__struct_fields__}
        kept = {f: v for f, v in table.items() if v or f in ("format", "providers", "spin")}
        return text.written(msgspec.to_builtins(kept))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan file, whole or not at all.

        Raises:
            StorageError: no room, no permission, no such folder; an older file stays as it was.
        """
        write_whole(path, self.dumps().encode())

    def provider_options(self, name: str) -> Provider:
        """The typed options of one provider; its defaults where the plan says nothing.

        Raises:
            PlanError: there is no such provider.
        """
        cls = provider_named(name)
        return typed_options(cls, self.provider.get(cls.name, {}))

    def attributes(self, folder: Path | None = None) -> dict[str, Value]:
        """Attributes of ORT's SessionOptions that the plan sets, without the number of threads.

        Where `SESSION_OPTIONS[name].ort_enum` names a class of onnxruntime, the value names its member.

        Args:
            folder: where relative file names begin (the plan's folder); None: the working directory.
        """
        placed = _placed(self.session, SESSION_OPTIONS, folder)
        found = {k: v for k, v in placed.items() if SESSION_OPTIONS[k].attribute}
        if found.get("enable_profiling") and folder is not None:
            # ORT's own default lies in the working directory, which is not the plan's to write to.
            found.setdefault("profile_file_prefix", str(folder / "onnxruntime_profile_"))
        return found

    def config_entries(self, folder: Path | None = None) -> dict[str, str]:
        """Entries of ORT's session config map that the plan sets, as ORT's texts; spinning included."""
        return _spin_entries(self.spin) | _entries(self.session, SESSION_OPTIONS, folder)

    def run_attributes(self) -> dict[str, Value]:
        """Attributes of ORT's RunOptions that the plan sets."""
        return {k: v for k, v in self.run.items() if RUN_OPTIONS[k].attribute}

    def run_entries(self, folder: Path | None = None) -> dict[str, str]:
        """Entries of ORT's run config map that the plan sets, as ORT's texts."""
        return _entries(self.run, RUN_OPTIONS, folder)

    def files(self, folder: Path) -> dict[str, Path]:
        """Every file that ORT reads or writes because the plan says so, by key; `folder` is the plan's."""
        tables = (("session", self.session, SESSION_OPTIONS), ("run", self.run, RUN_OPTIONS))
        return {
            dotted(table, key): folder / str(value)
            for table, given, known in tables
            for key, value in given.items()
            if known[key].kind == "path"
        }

    def named_code(self) -> tuple[str, ...]:
        """Every shared library that opening the plan would load: each must be allowed by name."""
        from hotlap.providers.listing import options_of  # only a plan with provider options needs the table

        found = list(self.custom_ops)
        for name in self.provider:
            options = self.provider_options(name)
            loads = {o.name for o in options_of(type(options)) if o.holds == "code"}
            found += [v for k, v in options.written().items() if k in loads]
            found += [v for v in options.extra.values() if _LIBRARY.search(v)]
        return tuple(dict.fromkeys(found))

    def check_version(self, ort_version: str) -> None:
        """Refuse what the installed ONNX Runtime is too old for, which would ignore it in silence.

        Args:
            ort_version: `onnxruntime.__version__`.

        Raises:
            PlanError: names the key, the version that first knew it, and the installed one.
        """
        have = _version(ort_version)
        for key, since in self._needs():
            if have < _version(since):
                raise PlanError(
                    f"{key}: needs onnxruntime {since}; {ort_version} is installed and would ignore it in"
                    " silence: upgrade onnxruntime, or take the key out of the plan"
                )

    def _needs(self) -> list[tuple[str, str]]:
        """(key, the first version that knows it) of everything that the plan sets."""
        from hotlap.providers.listing import options_of

        needs = [("spin", "1.26")] if self.spin.endswith("us") else []
        needs += [(dotted("session", k), SESSION_OPTIONS[k].since) for k in self.session]
        needs += [(dotted("run", k), RUN_OPTIONS[k].since) for k in self.run]
        for name, table in self.provider.items():
            since = {o.name: o.since for o in options_of(provider_named(name))}
            needs += [(dotted("provider", name, k), since[k]) for k in table]
        return needs + [("providers", provider_named(n).since) for n in self.providers]


def _unknown(key: str, known: tuple[str, ...]) -> str:
    if key in PLAN_INSTEAD:
        return f"write instead {PLAN_INSTEAD[key]}"
    for table, options in (("session", SESSION_OPTIONS), ("run", RUN_OPTIONS)):
        if key in options:
            return f"it belongs under [{table}]"
    return f"unknown key{nearest(key, known)}; a plan has {', '.join(known)}"


def _version(words: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", words)
    return (int(found.group(1)), int(found.group(2))) if found else _version(FLOOR)


def _placed(given: dict[str, Value], known: dict[str, Option], folder: Path | None) -> dict[str, Value]:
    if folder is None:
        return dict(given)
    return {k: os.fspath(folder / str(v)) if known[k].kind == "path" else v for k, v in given.items()}


def _entries(given: dict[str, Value], known: dict[str, Option], folder: Path | None) -> dict[str, str]:
    placed = _placed(given, known, folder)
    return {k: known[k].text(v) for k, v in placed.items() if not known[k].attribute}


def _spin_entries(spin: str) -> dict[str, str]:
    entries = {"session.intra_op.allow_spinning": "0" if spin == "off" else "1"}
    if spin.endswith("us"):
        entries["session.intra_op.spin_duration_us"] = spin.removesuffix("us")
    return entries

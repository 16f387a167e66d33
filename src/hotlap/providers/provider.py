"""What all execution providers share: typed options that become the texts that ORT wants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec

__all__ = ["ADDRESS", "FLOOR", "Arena", "NonNegative", "Positive", "Provider", "option"]

FLOOR = "1.24"
"""The oldest ONNX Runtime that hotlap runs on; `since` of every option that it already knew."""

ADDRESS = "no plan can: it is an address inside one running process"
"""What to write instead of an option that takes a pointer."""

NonNegative = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Arena = Literal["kNextPowerOfTwo", "kSameAsRequested"]


def option(
    text: str,
    *,
    default: str = "",
    since: str = FLOOR,
    numbers: bool = False,
    holds: Literal["value", "folder", "file", "code"] = "value",
) -> msgspec.Meta:
    """The documentation of one option, to be put in `Annotated`.

    Args:
        text: one sentence; with the unit where there is one.
        default: what happens when the option is not given.
        since: the first ORT version that knows it.
        numbers: it can change the values that the model answers.
        holds: "folder" or "file" where ORT reads and writes; "code" for shared libraries that are loaded,
            which a plan may only do when the caller allows each by name.
    """
    extra = {"default": default, "since": since, "numbers": numbers, "holds": holds}
    return msgspec.Meta(description=text, extra=extra)


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The options of one execution provider, under ORT's own names. None leaves an option to ORT's default.

    Attributes:
        extra: options that hotlap does not know yet, passed on as they are, with no check: ORT may ignore a
            misspelt one in silence.

    Class attributes:
        name: hotlap's name; ort_name: ORT's.
        extra_name: the extra of hotlap that brings it; "" where there is none, and `install` says what to do.
        plugin: the Python module of a plugin provider library; None for one compiled into ONNX Runtime.
        since: the first ORT version that has it.
        booleans: how ORT spells false and true for this provider.
        instead: an option that people write, and what to write in its place.
    """

    name: ClassVar[str]
    ort_name: ClassVar[str]
    extra_name: ClassVar[str] = ""
    install: ClassVar[str]
    plugin: ClassVar[str | None] = None
    since: ClassVar[str] = FLOOR
    booleans: ClassVar[tuple[str, str]] = ("0", "1")
    instead: ClassVar[dict[str, str]] = {}

    extra: Annotated[
        dict[str, str],
        option("Options that hotlap does not know, passed on unchecked, as texts.", default="none"),
    ] = msgspec.field(default_factory=dict, name="extra")

    def options(self, threads: int, spin: str, folder: Path | None = None) -> dict[str, str]:
        """What ORT is given: option name to text.

        Args:
            threads: intra-op threads of the session, the calling one included.
            spin: the plan's word: "off", "<n>us" or "on".
            folder: where relative files and folders begin (the plan's folder); None: the working directory.
        """
        return self.written(folder) | self.extra

    def written(self, folder: Path | None = None) -> dict[str, str]:
        """The typed options that were given, as ORT's texts."""
        names = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        given = {ort: getattr(self, field) for field, ort in names if field != "extra"}
        texts = {ort: self._text(value) for ort, value in given.items() if value is not None}
        return texts if folder is None else {k: self._placed(k, v, folder) for k, v in texts.items()}

    def _text(self, value: Any) -> str:
        return self.booleans[value] if isinstance(value, bool) else str(value)

    def _placed(self, name: str, text: str, folder: Path) -> str:
        from hotlap.providers.listing import options_of  # only a plan with a folder needs the table

        is_path = any(o.name == name and o.holds in ("folder", "file") for o in options_of(type(self)))
        return os.fspath(folder / text) if is_path and text else text

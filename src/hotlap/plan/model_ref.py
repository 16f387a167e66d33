"""The model that a plan is for: where it lies, and the digests that tell it from every other."""

from __future__ import annotations

import re

import msgspec

from hotlap.errors import PlanError
from hotlap.plan.options import inside, named
from hotlap.plan.words import dotted

__all__ = ["External", "ModelRef"]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


class External(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of weights outside of the model file.

    Attributes:
        size: in bytes.
        digest: "sha256:" and 64 hexadecimal digits.
    """

    size: int
    digest: str


class ModelRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The model that a plan is for.

    Attributes:
        path: relative to the plan's folder, with forward slashes, or absolute.
        digest: of the .onnx file: "sha256:" and 64 hexadecimal digits.
        external: files of external weights: their names, relative to the model's folder, and what they are.

    Raises:
        PlanError: a digest is none, a size is negative, or a file of weights lies outside the model's folder.
    """

    path: str
    digest: str
    external: dict[str, External] = {}

    def __post_init__(self) -> None:
        if not self.path.strip():
            raise PlanError("model.path: is empty")
        _check_digest(self.digest, "model.digest")
        for name, file in self.external.items():
            where = dotted("model", "external", name)
            inside(name, where)
            _check_digest(file.digest, f"{where}.digest")
            if file.size < 0:
                raise PlanError(f"{where}.size: expected a whole number of 0 or more, got {named(file.size)}")


def _check_digest(text: str, where: str) -> None:
    if not _DIGEST.fullmatch(text):
        raise PlanError(f'{where}: expected "sha256:" and 64 hexadecimal digits, got {named(text)}')

"""The names of a model's classes, from its metadata: `labels_of`."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from hotlap.runtime.modelfile import properties

__all__ = ["LABELS", "labels_of"]

log = logging.getLogger("hotlap.serve")

LABELS = "hotlap.labels."
"""Key in the metadata, before the output's name; the value is a JSON list, as the pass that removes ZipMap
writes it."""


def labels_of(path: Path) -> dict[str, tuple[str, ...]]:
    """Output to the names of its classes, for those outputs whose classes the model names."""
    found = {}
    for key, value in properties(path).items():
        if not key.startswith(LABELS):
            continue
        try:
            names = msgspec.json.decode(value, type=list[str | int])
        except msgspec.DecodeError as error:
            log.warning("%s: its metadata %s is no list of names: %s", path, key, error)
            continue
        found[key.removeprefix(LABELS)] = tuple(map(str, names))
    return found

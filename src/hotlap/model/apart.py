"""A model's weights in a file beside it, so that many copies of its graph can share them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hotlap.plan.files import storage_error

__all__ = ["LEAST", "weights_apart"]

LEAST = 4096
"""Bytes; smaller tensors stay in the graph: sizes and shapes are read from them before anything is run."""
_EXTERNAL = 1  # TensorProto.DataLocation.EXTERNAL


def weights_apart(model: Any, file: Path) -> int:
    """Move the weights of the model's own graph into a new file; those of inner graphs stay.

    Args:
        model: the ``ModelProto``; it is changed, and is then to be written beside `file`.
        file: where to; it is no longer needed once nobody reads a copy of the model.

    Returns:
        how many weights lie there; where there is none, so is no file.

    Raises:
        StorageError: no room.
    """
    moved = [w for w in model.graph.initializer if len(w.raw_data) >= LEAST]
    if not moved:
        return 0
    try:
        with file.open("wb") as out:
            for weight in moved:
                _refer(weight, file.name, out.tell(), out.write(weight.raw_data))
    except OSError as error:
        raise storage_error(file, error) from error
    return len(moved)


def _refer(weight: Any, location: str, offset: int, length: int) -> None:
    weight.ClearField("raw_data")
    weight.data_location = _EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        weight.external_data.add(key=key, value=value)

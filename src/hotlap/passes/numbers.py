"""The numbers of a stored tensor, in pieces, wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.errors import ModelError
from hotlap.model.graph import onnx
from hotlap.passes.draft import EXTERNAL, Draft

__all__ = ["place_of", "read_tensor"]

PIECE = 1 << 22
"""Elements: what is read of a file at once."""


def place_of(tensor: Any) -> tuple[str, int, int | None]:
    """(location, offset, length) of an external tensor; None: to the end of its elements."""
    entry = {e.key: e.value for e in tensor.external_data}
    length = entry.get("length")
    return entry.get("location", ""), int(entry.get("offset") or 0), int(length) if length else None


def read_tensor(draft: Draft, tensor: Any) -> Iterator[npt.NDArray[Any]]:
    """The elements in order, as flat arrays; those in files are read in pieces.

    Raises:
        ModelError: the numbers are not where the file says.
    """
    if tensor.data_location != EXTERNAL:
        yield onnx().numpy_helper.to_array(tensor).reshape(-1)
        return
    location, offset, _ = place_of(tensor)
    dtype = np.dtype(onnx().helper.tensor_dtype_to_np_dtype(tensor.data_type)).newbyteorder("<")
    left = int(np.prod(tensor.dims, dtype=np.int64))
    with draft.files[location].open("rb") as file:
        file.seek(offset)
        while left:
            piece = np.fromfile(file, dtype, min(left, PIECE))
            if not piece.size:
                raise ModelError(f'{draft.files[location]}: cut short: weight "{tensor.name}" ends early')
            left -= piece.size
            yield piece

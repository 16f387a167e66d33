"""The numbers of a stored tensor, in pieces, wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.model.graph import onnx
from hotlap.model.pieces import pieces
from hotlap.passes.draft import EXTERNAL, Draft

__all__ = ["read_tensor"]


def read_tensor(draft: Draft, tensor: Any) -> Iterator[npt.NDArray[Any]]:
    """The elements in order, as flat arrays; those in files are read in pieces.

    Args:
        draft: what the tensor is of.
        tensor: of an element type of whole bytes; the bytes of any are given by `hotlap.model.pieces`.

    Raises:
        ModelError: the numbers are not where the file says.
    """
    if tensor.data_location != EXTERNAL:
        yield onnx().numpy_helper.to_array(tensor).reshape(-1)
        return
    dtype = np.dtype(onnx().helper.tensor_dtype_to_np_dtype(tensor.data_type)).newbyteorder("<")
    for piece in pieces(tensor, draft.files):
        yield np.frombuffer(piece, dtype)

"""Do two stored tensors hold the same numbers?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hotlap.model.graph import onnx

__all__ = ["difference"]


def difference(before: Any, after: Any, home: Path, other_home: Path) -> str:
    """How two ``TensorProto`` differ, in words; "" where they are the same.

    Args:
        before, after: the tensors.
        home, other_home: the folders of their models, for weights in files beside them.
    """
    helper = onnx().numpy_helper
    one, two = helper.to_array(before, str(home)), helper.to_array(after, str(other_home))
    if one.shape != two.shape or one.dtype != two.dtype:
        return f"{one.dtype.name}{list(one.shape)} became {two.dtype.name}{list(two.shape)}"
    differs = np.asarray(one != two)
    if one.dtype.kind == "f":
        differs &= ~(np.isnan(one) & np.isnan(two))
    if not differs.any():
        return ""
    place = np.unravel_index(int(np.argmax(differs)), differs.shape)
    index = f"[{', '.join(str(int(i)) for i in place)}]" if place else ""
    many = f"{int(differs.sum()):,} of {differs.size:,} values differ"
    return f"{many}, the first{index}: {one[place]:.6g} became {two[place]:.6g}"

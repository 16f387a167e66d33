"""One feed as a .npz file."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

__all__ = ["write_npz"]


def write_npz(file: Path | BinaryIO, feed: Mapping[str, Any]) -> None:
    """Input name to array; text is written as unicode, so that nothing is pickled.

    Raises:
        OSError: it could not be written.
    """
    # By the archive's own door: np.savez(file, **feed) would trip over an input named "file".
    with zipfile.ZipFile(file, "w") as archive:
        for name, value in feed.items():
            array = np.asarray(value)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(
                    member, array.astype(np.str_) if array.dtype == object else array, allow_pickle=False
                )

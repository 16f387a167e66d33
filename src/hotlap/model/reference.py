"""Where a tensor that lies outside of the model file says that its bytes are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hotlap.model.sizes import stored_bytes

__all__ = ["Reference", "is_external", "reference"]

_EXTERNAL = 1  # TensorProto.DataLocation.EXTERNAL
_LARGEST, _DIGITS = 2**63, 19
"""What offsets and lengths are below, in bytes, and how many digits that has."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Where one tensor says that its bytes lie.

    Attributes:
        tensor, location: its name; the file, as the model spells it.
        offset, length: in bytes. Where the model gives no length it is what the tensor needs.
        checksum: SHA1 of the whole file, 40 hexadecimal digits; "" where the model gives none.
        said: what makes the place unreadable; "" where nothing does.

    Source: onnx.proto3 (TensorProto.external_data) and ONNX's ExternalData.md.
    """

    tensor: str
    location: str
    offset: int = 0
    length: int = 0
    checksum: str = ""
    said: str = ""


def is_external(tensor: Any) -> bool:
    """Whether a ``TensorProto`` keeps its bytes in another file."""
    return bool(tensor.data_location == _EXTERNAL)


def reference(tensor: Any) -> Reference:
    """Where an external ``TensorProto`` says that its bytes lie."""
    entry = {e.key: e.value for e in tensor.external_data}
    name, location = tensor.name, entry.get("location", "")
    needed = stored_bytes(tensor)
    offset, length = (_number(entry.get(key, "")) for key in ("offset", "length"))
    if offset is None or length is None:
        return Reference(name, location, said=f'weight "{name}" has no readable place in its file: {entry}')
    length = length or needed or 0
    said = ""
    if needed is not None and length != needed:
        said = f'weight "{name}" needs {needed:,} bytes and points to {length:,}'
    return Reference(name, location, offset, length, entry.get("checksum", ""), said)


def _number(text: str) -> int | None:
    """As ONNX Runtime reads it: digits alone, and no more than a file can have bytes; None: it is none."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        return None
    return int(text) if int(text) < _LARGEST else None

"""What a model is made of, in one value: `Anatomy`."""

from __future__ import annotations

import msgspec

__all__ = ["Anatomy"]


class Anatomy(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is made of."""

    path: str

"""What a call costs: multiply-adds and bytes, with the sizes that vary left open."""

from __future__ import annotations

import msgspec

__all__ = ["Cost"]


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a call costs."""

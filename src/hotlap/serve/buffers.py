"""Arrays that inputs are put together in: kept by a lane, and bound to the model: `Buffers`."""

from __future__ import annotations

from collections import OrderedDict
from math import prod
from typing import Any

import numpy as np

from hotlap.errors import UsageError
from hotlap.runtime import Face
from hotlap.wire.port import numpy_of

__all__ = ["Buffers"]

_MOST = 16
_LARGEST = 4 << 20
"""Bytes of an array that is kept. The session remembers up to 32, so a lane holds 128 MiB at the worst. For
what is larger a fresh array costs little beside the call."""


class Buffers:
    """For the thread that asks alone: the runner binds an array to the thread that it was made in."""

    def __init__(self, runner: Face) -> None:
        self._runner = runner
        self._specs = {s.name: s for s in runner.inputs}
        self._kept: OrderedDict[tuple[str, tuple[int, ...]], Any] = OrderedDict()

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any] | None = None) -> Any:
        """An array for that input, its values whatever lay there; good until it is asked for again.

        Args:
            dtype: for text; None: the model's.
        """
        key = (name, shape)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        kind = self._specs[name].dtype
        if kind is None or kind.name == "string":
            if dtype is None:
                raise UsageError(f'input "{name}": {kind and kind.name} cannot be read from shared memory')
            return np.empty(shape, dtype)
        if kind.numpy is None:  # the session binds no buffer of a type that numpy alone does not have
            return np.empty(shape, dtype or numpy_of(self._specs[name], kind))
        if prod(shape) * kind.numpy.itemsize > _LARGEST:
            return np.empty(shape, kind.numpy)
        made = self._runner.input_buffer(name, shape)
        self._kept[key] = made
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return made

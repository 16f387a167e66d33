"""What a connection takes of the memory that all share: `Room`; and memory for one body: `aligned`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hotlap.errors import Overloaded

if TYPE_CHECKING:
    from hotlap.serve.http.front import Front

__all__ = ["Room", "aligned"]

_ALIGNMENT = 64


class Room:
    """One connection's part of `Front.bodies` and `Front.answers`, which have limits.

    Attributes:
        held: bytes of its body, as far as it has come: what is only announced takes no memory.
        owed: bytes of answers that its client leaves unread.
    """

    __slots__ = ("_front", "held", "owed")

    def __init__(self, front: Front) -> None:
        self._front = front
        self.held = self.owed = 0

    def overloaded(self, nbytes: int) -> Overloaded | None:
        """Why a body of so many bytes, those that are held already included, does not fit."""
        front = self._front
        if front.bodies - self.held + nbytes <= front.limits.bodies:
            return None
        return Overloaded(f"bodies of {front.bodies:,} bytes arrive or wait already")

    def hold(self, nbytes: int) -> None:
        """So many bytes of the body are there, until it is answered."""
        self._front.bodies += nbytes - self.held
        self.held = nbytes

    def owe(self, nbytes: int) -> None:
        """So many bytes of answers wait for the client to read."""
        self._front.answers += nbytes - self.owed
        self.owed = nbytes

    def check_answer(self, nbytes: int) -> None:
        """
        Raises:
            Overloaded: an answer of so many bytes would have to wait beside too many others.
        """
        front = self._front
        if front.answers and front.answers + nbytes > front.limits.answers:
            raise Overloaded(f"answers of {front.answers:,} bytes wait for their clients to read them")


def aligned(length: int, header_length: int) -> memoryview:
    """Memory for a body, whose tensors then lie aligned: the first one starts behind the JSON header. It is
    not filled with zeros, and untouched pages take no memory."""
    room = np.empty(length + _ALIGNMENT, np.uint8)
    start = -(room.ctypes.data + header_length) % _ALIGNMENT
    return room[start : start + length].data

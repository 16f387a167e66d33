"""Tensors in memory that client and server share: `SharedMemory`.

A client makes a file in the shared-memory folder, registers a piece of it under a name, and then sends names
and offsets instead of tensors. The file stays the client's: it may be cut short or rewritten at any moment.
A mapping of it would end the server by SIGBUS when it is cut short, and checking the size first only makes
that rarer. So nothing is mapped: bytes are read once, into memory of our own, and written, through the
file descriptor, where a short file is an answer and not a signal.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hotlap.errors import InputError, Overloaded, TooLarge
from hotlap.serve.status import Unknown
from hotlap.tensors import nearest
from hotlap.wire import Region

__all__ = ["Registered", "SharedMemory"]

Buffer = bytes | bytearray | memoryview

_NAMED = 64
"""Characters of a client's text that an error repeats."""

_BUFFERS = 512
"""Buffers in one `os.pwritev`: Linux takes 1024 (IOV_MAX)."""


class _File:
    """An open file, closed when the last who uses it lets go of it: a lane may read while another request
    unregisters the region, and a number that was closed meanwhile could be another file by then."""

    __slots__ = ("number", "writable")

    def __init__(self, number: int, writable: bool) -> None:
        self.number = number
        self.writable = writable

    def __del__(self) -> None:
        os.close(self.number)


@dataclass(frozen=True, slots=True)
class Registered:
    """One registered region.

    Attributes:
        name: in requests.
        key: the file in the shared-memory folder, as the client wrote it.
        offset, nbytes: the piece of the file.
    """

    name: str
    key: str
    offset: int
    nbytes: int
    file: _File


class SharedMemory:
    """The regions that clients have registered, and the tensors in them.

    `register`, `unregister` and `status` belong to one thread; `read`, `read_into` and `write` may be called
    by any, also while the region that they use is unregistered.

    Args:
        folder: where regions are files; keys cannot lead out of it.
        allowed: False: nothing can be registered.
        most_regions: registered at a time; each holds a file descriptor.
        most_bytes: of one tensor. A file may be sparse, so its size alone would not bound what a request
            makes the server allocate.
    """

    def __init__(
        self,
        folder: Path = Path("/dev/shm"),
        *,
        allowed: bool = True,
        most_regions: int = 256,
        most_bytes: int = 1 << 30,
    ) -> None:
        self.folder = folder
        self.allowed = allowed
        self.most_regions = most_regions
        self.most_bytes = most_bytes
        self._regions: dict[str, Registered] = {}

    # ── what clients manage ───────────────────────────────────────────────────────────────────────────

    def register(self, name: str, key: str, offset: int, nbytes: int) -> None:
        """Opens a file and makes a piece of it known under a name.

        Args:
            name: any text; the same name again must be unregistered first.
            key: the file, as `shm_open` names it: one leading slash is allowed, no other.
            offset, nbytes: the piece, in bytes; the file must hold it now.

        Raises:
            InputError: the name is empty or taken; the key leads out of the folder, or is no regular file of
                that size that this process may open; registering is switched off.
            Overloaded: too many regions.
        """
        if not self.allowed:
            raise InputError("shared memory is switched off on this server; send tensors in the request")
        if not name:
            raise InputError("the region's name is empty")
        if name in self._regions:
            raise InputError(f'region "{_short(name)}" is registered already: unregister it first')
        if len(self._regions) >= self.most_regions:
            raise Overloaded(
                f"{self.most_regions} regions are registered, as many as this server takes: "
                "unregister some, or put several tensors into one region by their offsets"
            )
        file = self._open(key)
        size = os.fstat(file.number).st_size
        if offset < 0 or nbytes < 1 or offset + nbytes > size:
            raise InputError(
                f'region "{_short(name)}": {nbytes} bytes from {offset} on, but "{_short(key)}" holds {size}'
            )
        self._regions[name] = Registered(name, key, offset, nbytes, file)

    def unregister(self, name: str | None = None) -> None:
        """Forgets a region, or all. One that is not registered is fine: clients tidy up before they start."""
        if name is None:
            self._regions.clear()
        else:
            self._regions.pop(name, None)

    def status(self, name: str | None = None) -> list[Registered]:
        """The registered regions, or the one of that name.

        Raises:
            Unknown: there is none of that name.
        """
        return list(self._regions.values()) if name is None else [self._region(name)]

    @property
    def nbytes(self) -> int:
        """Bytes of all registered regions together."""
        return sum(r.nbytes for r in self._regions.values())

    # ── what requests do ──────────────────────────────────────────────────────────────────────────────

    def check(self, piece: Region) -> None:
        """Whether that piece can be used, before anything is allocated for it.

        Raises:
            Unknown, InputError: as `read_into`.
        """
        self._place(piece)

    def read_into(self, piece: Region, array: npt.NDArray[Any]) -> None:
        """Fills an array from a piece of a region. Each byte is read once.

        Args:
            array: C-contiguous and writable, of exactly the piece's size; on an error its values are
                undefined.

        Raises:
            Unknown: no such region.
            InputError: the piece is not inside of the region, or does not have the array's size; or the file
                is shorter than when it was registered.
            TooLarge: the piece is larger than one tensor may be.
        """
        if not array.flags.c_contiguous:
            raise ValueError("the array is not C-contiguous")
        region = self._place(piece)
        if array.nbytes != piece.nbytes:
            raise InputError(
                f'region "{_short(piece.name)}": {piece.nbytes} bytes given, the tensor has {array.nbytes}'
            )
        if array.nbytes:
            # By bytes: types that numpy lacks (bfloat16) have no buffer of their own.
            self._read(region, piece, array.reshape(-1).view(np.uint8).data)

    def read(self, piece: Region) -> bytearray:
        """The bytes of a piece, for tensors whose elements have no fixed size.

        Raises:
            Unknown, InputError: as `read_into`.
        """
        region = self._place(piece)
        data = bytearray(piece.nbytes)
        self._read(region, piece, memoryview(data))
        return data

    def write(self, piece: Region, buffers: Sequence[Buffer]) -> None:
        """Writes buffers one behind the other to the start of a piece.

        Raises:
            Unknown: no such region.
            InputError: the buffers do not fit into the piece, or the piece not into the region; the file has
                become shorter, is read-only for this process, or the folder is full. What was written
                before stays written.
        """
        region = self._place(piece)
        rest = [memoryview(b).cast("B") for b in buffers if len(b)]
        total = sum(map(len, rest))
        if total > piece.nbytes:
            raise InputError(
                f'region "{_short(piece.name)}": the tensor has {total} bytes, '
                f"but there is room for {piece.nbytes}"
            )
        if not region.file.writable:
            raise InputError(f'region "{_short(piece.name)}": this server may only read it')
        at = region.offset + piece.offset
        try:
            while rest:
                done = os.pwritev(region.file.number, rest[:_BUFFERS], at)
                at += done
                rest = _behind(rest, done)
        except OSError as error:
            raise InputError(f'region "{_short(piece.name)}": cannot be written: {_why(error)}') from error

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────

    def _region(self, name: str) -> Registered:
        region = self._regions.get(name)
        if region is None:
            hint = nearest(_short(name), list(self._regions)[:_NAMED])
            raise Unknown(f'region "{_short(name)}" is not registered{hint}')
        return region

    def _place(self, piece: Region) -> Registered:
        """The region of a piece that lies inside of it, and inside of the file as it is now."""
        region = self._region(piece.name)
        end = piece.offset + piece.nbytes
        if piece.offset < 0 or piece.nbytes < 0 or end > region.nbytes:
            raise InputError(
                f'region "{_short(piece.name)}": {piece.nbytes} bytes from {piece.offset} on, '
                f"but it was registered with {region.nbytes}"
            )
        if piece.nbytes > self.most_bytes:
            raise TooLarge(
                f'region "{_short(piece.name)}": a tensor of {piece.nbytes} bytes, '
                f"this server takes {self.most_bytes}"
            )
        if os.fstat(region.file.number).st_size < region.offset + end:
            raise _cut(piece)
        return region

    def _read(self, region: Registered, piece: Region, rest: memoryview) -> None:
        at = region.offset + piece.offset
        try:
            while rest:
                done = os.preadv(region.file.number, [rest], at)
                if not done:
                    raise _cut(piece)
                at += done
                rest = rest[done:]
        except OSError as error:
            raise InputError(f'region "{_short(piece.name)}": cannot be read: {_why(error)}') from error

    def _open(self, key: str) -> _File:
        """The file of that key, itself and in this folder: no link, no pipe, no device."""
        if not hasattr(os, "preadv") or not self.folder.is_dir():
            raise InputError(f"there is no {self.folder} on this server: send tensors in the request")
        file = key.removeprefix("/")
        if not file or file in (".", "..") or "/" in file or "\0" in file:
            raise InputError(
                f'key "{_short(key)}": expected the name of a file in {self.folder}, with at most one slash, '
                "in front"
            )
        if file.startswith("sem."):
            raise InputError(f'key "{_short(key)}": that is a semaphore, no shared memory')
        path = self.folder / file
        # Non-blocking: opening a pipe would wait for its other end.
        flags = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        try:
            try:
                opened = _File(os.open(path, os.O_RDWR | flags), writable=True)
            except PermissionError:
                opened = _File(os.open(path, os.O_RDONLY | flags), writable=False)
        except (OSError, UnicodeEncodeError) as error:
            raise InputError(f'key "{_short(key)}": cannot be opened: {_why(error)}') from error
        if not stat.S_ISREG(os.fstat(opened.number).st_mode):
            raise InputError(f'key "{_short(key)}": it is no regular file')
        return opened


def _short(text: str) -> str:
    return text if len(text) <= _NAMED else f"{text[:_NAMED]}…"


def _cut(piece: Region) -> InputError:
    return InputError(
        f'region "{_short(piece.name)}": its file is shorter than when it was registered, '
        f"it no longer holds {piece.nbytes} bytes from {piece.offset} on"
    )


def _why(error: OSError | UnicodeEncodeError) -> str:
    """The reason without the path, which the client did not give."""
    if isinstance(error, UnicodeEncodeError):
        return "its name cannot be written in this file system"
    if error.errno == errno.ELOOP:
        return "it is a link"
    return os.strerror(error.errno or 0)


def _behind(buffers: list[memoryview], done: int) -> list[memoryview]:
    """What is left of the buffers when so many bytes of them have been written."""
    for n, buffer in enumerate(buffers):
        if done < len(buffer):
            return [buffer[done:], *buffers[n + 1 :]]
        done -= len(buffer)
    return []

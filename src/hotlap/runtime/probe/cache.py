"""Facts of bare models, kept between processes: a folder of small files, one for each model and runtime.

The folder is the user's own: 0700, not a link, owned by who asks. What is in it is read with suspicion all
the same: a file that is broken, foreign, or about another model is ignored, and written anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import stat
import sys
from pathlib import Path

import msgspec

from hotlap.errors import PlanError
from hotlap.plan import Facts

__all__ = ["Key", "cache_folder", "read", "write"]

log = logging.getLogger("hotlap.runtime")

_LARGEST = 64 * 1024
"""Bytes of one entry; facts have a few hundred."""
_MOST = 1000
"""Entries; the oldest make room for new ones. With `_LARGEST` that is 64 MB at most, in practice 1 MB."""


class Key(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What facts depend on.

    Attributes:
        format: of an entry; a change of how probing judges is a new format.
        model: digest of the model file.
        external: file of external weights to its digest; "" where it is missing.
        onnxruntime: version.
        providers: short names, in order.
        limits: input to how many ids there are.
        seconds: what probing was allowed to take.
    """

    format: int = 2
    model: str
    external: dict[str, str] = {}
    onnxruntime: str
    providers: tuple[str, ...]
    limits: dict[str, int] = {}
    seconds: float

    @property
    def file_name(self) -> str:
        """The same for equal keys; any character that a file system may refuse is hashed away."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest() + ".json"


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: Key
    facts: Facts


def cache_folder() -> Path | None:
    """Where entries lie: ``$HOTLAP_CACHE/facts``, else ``hotlap/facts`` in the system's place for caches.

    None where the user has no home.
    """
    named = os.environ.get("HOTLAP_CACHE")
    if named:
        return Path(named).absolute() / "facts"
    try:
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            home = Path(local) if local else Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            home = Path.home() / "Library" / "Caches"
        else:
            # The standard has relative paths ignored: XDG Base Directory Specification.
            named = os.environ.get("XDG_CACHE_HOME", "")
            home = Path(named) if named.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        return None
    return home / "hotlap" / "facts"


def read(key: Key) -> Facts | None:
    """The facts that were kept for that key; None where there are none, or none to be trusted."""
    folder = cache_folder()
    if folder is None or not _is_ours(folder):
        return None
    path = folder / key.file_name
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | _NO_LINK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _owned(status):
                return None
            data = file.read(_LARGEST + 1)
        entry = msgspec.json.decode(data, type=_Entry) if len(data) <= _LARGEST else None
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, PlanError, UnicodeError, RecursionError) as error:
        log.info("%s: ignored: %s", path, error)
        return None
    return entry.facts if entry is not None and entry.key == key else None


def write(key: Key, facts: Facts) -> None:
    """Keep facts. What cannot be kept is not: the log says why, and nobody waits for it."""
    folder = cache_folder()
    if folder is None:
        return
    try:
        folder.parent.parent.mkdir(parents=True, exist_ok=True)
        for own in (folder.parent, folder):  # `parents` would leave those open to whom the umask allows
            own.mkdir(mode=0o700, exist_ok=True)
        if _is_ours(folder):
            _place(folder / key.file_name, msgspec.json.encode(_Entry(key, facts)), key)
            _make_room(folder)
    except OSError as error:
        log.info("%s: facts are not kept: %s", folder, error.strerror or error)


_OURS = re.compile(r"[0-9a-f]{64}\.json|\.[0-9a-f]{16}\.tmp")


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def _owned(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def _is_ours(folder: Path) -> bool:
    """Nobody else can have put anything there. Windows gives each user's folders to that user alone."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    private = sys.platform == "win32" or not status.st_mode & 0o077
    if stat.S_ISDIR(status.st_mode) and _owned(status) and private:
        return True
    log.warning(
        "%s: not used: it must be a folder of this user's own, closed to others (chmod 700), and no link",
        folder,
    )
    return False


def _place(path: Path, data: bytes, key: Key) -> None:
    """Whole or not at all. A good entry that is there already stays: another process was first."""
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(data)
        if read(key) is None:
            temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _make_room(folder: Path) -> None:
    """Remove the oldest entries beyond `_MOST`, and what a crash left half-written."""
    ages = []
    for path in folder.iterdir():
        if not _OURS.fullmatch(path.name):
            continue
        with contextlib.suppress(OSError):  # another process removes too
            ages.append((path.lstat().st_mtime, path))
    for _, path in sorted(ages)[:-_MOST]:
        with contextlib.suppress(OSError):
            path.unlink()

"""The digest of a model file, and the check that a plan meets the model that it was made for.

Hashing runs in a thread of its own beside the building of the session: hashlib releases the GIL, and on two
cores the hash is ready first.
"""

from __future__ import annotations

import hashlib
import stat
import threading
from pathlib import Path

from hotlap.errors import ModelError, PlanError
from hotlap.plan import ModelRef

__all__ = ["DigestCheck", "file_digest"]


def file_digest(path: Path) -> str:
    """``"sha256:<64 hex digits>"`` of the file's bytes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


class DigestCheck:
    """Started at once; `verdict` waits for it.

    Args:
        reference: what the plan says about its model.
        model: the model file that was found.
    """

    def __init__(self, reference: ModelRef, model: Path) -> None:
        self._reference = reference
        self._model = model
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._look, name="hotlap-digest", daemon=True)
        self._thread.start()

    def verdict(self) -> None:
        """Waits until the files are hashed.

        Raises:
            PlanError: a file is not the one that the plan was made for.
            ModelError: a file of external weights is missing or cannot be read.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _look(self) -> None:
        try:
            _compare(self._model, self._reference.digest, None)
            for name, external in self._reference.external.items():
                _compare(self._model.parent / name, external.digest, external.size)
        except Exception as error:  # noqa: BLE001  a thread cannot raise: `verdict` does
            self._error = error


def _compare(path: Path, digest: str, size: int | None) -> None:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for, a device read for ever
            raise ModelError(f"{path}: not a regular file")
        # The size first: it is free, and enough to tell most other files.
        if size is not None and path.stat().st_size != size:
            raise PlanError(
                f"{path}: this plan was made for another model: it says {size} bytes, "
                f"the file has {path.stat().st_size}; tune again or point to the right file"
            )
        found = file_digest(path)
    except FileNotFoundError as error:
        raise ModelError(f"{path}: the model's file of external weights is missing") from error
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    if found != digest:
        raise PlanError(
            f"{path}: this plan was made for another model: it says {_short(digest)}, "
            f"the file has {_short(found)}; tune again or point to the right file"
        )


def _short(digest: str) -> str:
    return digest if len(digest) <= 20 else digest[:19] + "…"

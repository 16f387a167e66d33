"""Writing a draft: whole or not at all, with its external weights, under a name that nothing else has.

Everything is written into a temporary folder beside the destination, where it can be run and judged. Then the
weights go into place, under a name made of their content, so that they replace nothing; and then the model,
by one rename. Whatever happens before that rename, the old file is as it was.
"""

from __future__ import annotations

import contextlib
import mmap
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotlap.errors import HotlapError, StorageError, UsageError
from hotlap.model.graph import load_graph, tensors
from hotlap.passes.draft import EXTERNAL, Draft, copy_sparse
from hotlap.passes.external_weights import LARGEST_INSIDE, gathered
from hotlap.passes.graphs import set_property
from hotlap.plan.files import check_writable, storage_error, write_whole
from hotlap.runtime import file_digest

__all__ = ["SOURCE", "Written", "check_destination", "written"]

SOURCE = "hotlap.source"
"""Key of the source's digest in the file's metadata."""
WEIGHTS = "hotlap.weights"
"""Key of the name of the file of weights that belongs to this file alone."""
SMALLEST = 1024


@dataclass(frozen=True, slots=True)
class Written:
    """A draft as files in a temporary folder.

    Attributes:
        model: the .onnx file.
        weights: its file of external weights.
        out: where they will be.
    """

    model: Path
    weights: Path | None
    out: Path

    def put(self, kept: Sequence[Path] = ()) -> None:
        """Move them into place. Weights of the file that was there go, unless another model reads them.

        Args:
            kept: files that stay whatever they belong to: those of the source.

        Raises:
            StorageError: it cannot be done; what was there is there still.
        """
        try:
            old = _own_weights(self.out)
            if self.weights is not None:
                self.weights.replace(self.out.parent / self.weights.name)
            if self.out.exists():
                self.model.chmod(self.out.stat().st_mode & 0o7777)
            self.model.replace(self.out)
        except OSError as error:
            raise storage_error(self.out, error) from error
        if old is not None and (self.weights is None or old.name != self.weights.name):
            with contextlib.suppress(OSError):  # the new model is in place; an old file of weights costs room
                if not any(old.samefile(file) for file in kept if file.exists()) and not _named_beside(old):
                    old.unlink()


def check_destination(source: Path, files: list[Path], out: Path, *, force: bool) -> None:
    """Refuse, before any work is done, a destination that could not be written or would lose something.

    Raises:
        UsageError: it is the model itself or one of its files, or it exists and `force` was not given.
        StorageError: its folder is missing or may not be written to.
    """
    check_writable(out)
    if out.suffix.lower() != ".onnx":
        raise UsageError(f'{out}: name a file that ends in ".onnx"')
    if out.exists():
        if any(out.samefile(file) for file in (source, *files) if file.exists()):
            raise UsageError(f"{out}: is the model that is read, and the proof needs it; name another file")
        if not force:
            raise UsageError(f"{out}: exists; name another or say --force to replace it")


@contextlib.contextmanager
def written(draft: Draft, out: Path, metadata: dict[str, str]) -> Iterator[Written]:
    """The draft as files in a temporary folder beside `out`, which is gone after the block.

    Args:
        draft: what to write.
        out: where `Written.put` will move it.
        metadata: entries for the file.

    Raises:
        StorageError: no room, or no permission.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=".hotlap-passes-", dir=out.absolute().parent))
    except OSError as error:
        raise storage_error(out, error) from error
    try:
        yield _write(draft, folder, out, metadata)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(draft: Draft, folder: Path, out: Path, metadata: dict[str, str]) -> Written:
    draft = _fitting(draft)
    proto = draft.copy()
    for key, value in metadata.items():
        set_property(proto, key, value)
    weights = _lay_weights(draft, proto, folder, out)
    model = folder / out.name
    try:
        write_whole(model, proto.SerializeToString(deterministic=True))
    except StorageError as error:  # of a file in a temporary folder that nobody has heard of
        raise StorageError(f"{out}{str(error).removeprefix(str(model))}") from error.__cause__
    with contextlib.suppress(OSError):
        folder.chmod(0o755)
    return Written(model, weights, out)


def _fitting(draft: Draft) -> Draft:
    """With all external weights in one file, and with large ones outside where protobuf's limit is near."""
    too_large = draft.proto.ByteSize() > LARGEST_INSIDE
    external = any(True for _ in draft.external())
    if not too_large and not external:
        return draft
    if not too_large and len(draft.files) == 1 and _is_one_of_ours(draft):
        return draft
    return gathered(draft, SMALLEST if too_large else LARGEST_INSIDE)


def _is_one_of_ours(draft: Draft) -> bool:
    """Its only file of weights is a temporary one that was made for it, without gaps for what is gone."""
    (file,) = draft.files.values()
    used = sum(int({e.key: e.value for e in t.external_data}.get("length", 0)) for t in draft.external())
    return (
        any(file.is_relative_to(k.path) for k in draft.kept) and used * 1.1 + (1 << 20) > file.stat().st_size
    )


def _lay_weights(draft: Draft, proto: Any, folder: Path, out: Path) -> Path | None:
    """Its file of weights, named by what it holds."""
    used = {e.value for t in draft.external() for e in t.external_data if e.key == "location"}
    if not used:
        return None
    (file,) = (draft.files[name] for name in used)
    try:
        digest = file_digest(file).removeprefix("sha256:")
        name = f"{out.stem}.{digest[:12]}.data"
        copy_sparse(file, folder / name)
    except OSError as error:
        raise storage_error(out, error) from error
    for tensor in tensors(proto):
        if tensor.data_location == EXTERNAL:
            for entry in tensor.external_data:
                if entry.key == "location":
                    entry.value = name
    set_property(proto, WEIGHTS, name)
    return folder / name


def _own_weights(out: Path) -> Path | None:
    """The file of weights that an older file of ours at this place has for itself alone."""
    try:
        proto = load_graph(out)
    except HotlapError:
        return None
    name = next((e.value for e in proto.metadata_props if e.key == WEIGHTS), "")
    plain = name.startswith(f"{out.stem}.") and name.endswith(".data") and Path(name).name == name
    file = out.parent / name
    return file if plain and file.is_file() and not file.is_symlink() else None


def _named_beside(weights: Path) -> bool:
    """Whether a model in its folder names it: a copy of the one that it was written for reads it as well."""
    name = weights.name.encode()
    for model in weights.parent.glob("*.onnx"):
        if model.stat().st_size:
            with model.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if data.find(name) >= 0:
                    return True
    return False

"""Model: an ONNX file and what it says of itself."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self

from hotlap.errors import ModelError
from hotlap.model.external import ExternalProblem, external_files, external_problems, found_files
from hotlap.model.graph import load_graph, signature
from hotlap.model.ids import id_limits
from hotlap.model.walk import Walk
from hotlap.plan import External, ModelRef
from hotlap.plan.files import storage_error
from hotlap.runtime.digest import file_digest

__all__ = ["Model"]


class Model:
    """An ONNX file. Made by `Model.load`, which reads the graph and leaves external weights on disk.

    Attributes:
        path: the .onnx file.
        inputs, outputs: the signature; weights that old files list among the inputs are left out.
        opset: domain to version; "" is ONNX's own domain.
        ir_version: of the file format.
        producer: what wrote the file, with its version; "" where it does not say.
        size: bytes of the file and its external weights together.
        proto: the ``onnx.ModelProto``, for reading only; external weights are not in it.
        external_problems: what is wrong with the files of external weights; only where it was loaded so.
    """

    def __init__(
        self,
        path: Path,
        proto: Any,
        external: Mapping[str, Path],
        external_problems: tuple[ExternalProblem, ...] = (),
    ) -> None:
        self.path = path
        self.inputs, self.outputs = signature(proto)
        self.opset: dict[str, int] = {o.domain: o.version for o in proto.opset_import}
        self.ir_version: int = proto.ir_version
        self.producer = f"{proto.producer_name} {proto.producer_version}".strip()
        self.proto = proto
        self.external_problems = external_problems
        self._external = MappingProxyType(dict(external))
        self.size = sum(f.stat().st_size for f in self.files())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, external: Literal["refuse", "report"] = "refuse") -> Self:
        """Reads the file's graph. External weights are looked for but not read.

        Args:
            path: the .onnx file.
            external: what becomes of a model whose external weights are not as they should be: it is
                refused; or it is loaded, to be looked at, and `external_problems` tells what is wrong. A
                file whose checksum the model knows is then hashed.

        Raises:
            ModelError: the file is missing, not ONNX or cut short; a file of external weights is missing,
                cut short, or outside of the model's folder.
            MissingExtra: onnx is not installed.
        """
        path = Path(path)
        proto = load_graph(path)
        if external == "refuse":
            return cls(path, proto, external_files(proto, path))
        return cls(path, proto, found_files(proto, path), external_problems(proto, path))

    def __repr__(self) -> str:
        takes = ", ".join(f"{s.name} {s.label}" for s in self.inputs)
        gives = ", ".join(f"{s.name} {s.label}" for s in self.outputs)
        return f"<Model {self.path.name}: {takes} -> {gives}>"

    @cached_property
    def digest(self) -> str:
        """``"sha256:<64 hex digits>"`` of the .onnx file alone."""
        return file_digest(self.path)

    @cached_property
    def walk(self) -> Walk:
        """Every node with the place where it stands."""
        return Walk(self.proto)

    @cached_property
    def external(self) -> dict[str, External]:
        """Name, as the model spells it, to size and digest of each file of external weights. Hashes them."""
        return {
            name: External(size=file.stat().st_size, digest=file_digest(file))
            for name, file in self._external.items()
        }

    def reference(self, path: str) -> ModelRef:
        """How a plan refers to this model; `path` is where the plan will find it."""
        return ModelRef(path=path, digest=self.digest, external=self.external)

    def files(self) -> list[Path]:
        """The .onnx file and its files of external weights."""
        return [self.path, *self._external.values()]

    def id_limits(self) -> dict[str, int]:
        """Integer input to the number of rows of the table that it is looked up in; only where the graph
        shows it."""
        integers = frozenset(s.name for s in self.inputs if s.dtype is not None and s.dtype.is_integer)
        return id_limits(self.proto, integers)

    def save(self, folder: str | os.PathLike[str], link: bool = True) -> Path:
        """Lays the model and its external weights into a folder, whole or not at all.

        Args:
            folder: made where it is not there; files of the same names are replaced.
            link: hard links, which cost no space, where the file system can; else copies. A linked file
                changes when the original is written in place.

        Returns:
            The .onnx file in the folder.

        Raises:
            ModelError: it was loaded in spite of problems with its external weights.
            StorageError: the disk is full, or there is no permission; nothing half-written is left.
        """
        if self.external_problems:
            raise ModelError(f"{self.path}: {self.external_problems[0].said}")
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
            _lay(self.path, self._external, target, link)
        except OSError as error:
            raise storage_error(error.filename or target, error) from error
        return target / self.path.name


def _lay(model: Path, external: Mapping[str, Path], target: Path, link: bool) -> None:
    """All files into a temporary folder, then one rename each; the model last, since it names the others."""
    files = {**external, model.name: model}
    with tempfile.TemporaryDirectory(prefix=".hotlap-", dir=target) as scratch:
        for name, source in files.items():
            place = Path(scratch) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            _lay_one(source, place, link)
        for name, source in files.items():
            final = target / name
            if final.exists() and final.samefile(source):
                continue  # saved where it lies
            final.parent.mkdir(parents=True, exist_ok=True)
            (Path(scratch) / name).replace(final)


def _lay_one(source: Path, place: Path, link: bool) -> None:
    real = source.resolve()  # a link to a link would move away with its folder
    if link:
        try:
            place.hardlink_to(real)
        except OSError:  # another file system, or one without hard links
            pass
        else:
            return
    shutil.copyfile(real, place)

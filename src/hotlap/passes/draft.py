"""`Draft`: a model while passes change it. The graph lies in memory, weights in files stay in their files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Self

from hotlap.model.external import external_files
from hotlap.model.graph import load_graph, tensors
from hotlap.model.walk import Walk
from hotlap.plan.files import storage_error, write_whole
from hotlap.runtime import file_digest

__all__ = ["EXTERNAL", "Draft", "Origin", "free_name", "lay_files"]

EXTERNAL = 1  # TensorProto.DataLocation.EXTERNAL


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an output comes from, so that the proof knows what to compare it with.

    Attributes:
        value: its name in the source file: an output there, or an inner value.
        labels: the source gives a list of maps with these keys, the draft a tensor with a column for each.
    """

    value: str
    labels: tuple[str | int, ...] = ()


@dataclass(frozen=True, eq=False)
class Draft:
    """A model between two passes. Nothing changes one: `edited` makes the next.

    Attributes:
        proto: the ``onnx.ModelProto``; weights in files are not loaded. Read it, never write to it.
        files: location, as the model spells it, to the file that holds those weights.
        path: the file whose bytes this is; None once a pass has changed it.
        inputs: input to its name in the source file.
        outputs: output to where it comes from in the source file.
        dropped_inputs: inputs of the source file that are no inputs any more.
        single: the source is right for single rows alone: its inputs, by their names there, whose first axis
            holds rows.
        kept: what must live as long as the files do: temporary folders.
    """

    proto: Any
    files: Mapping[str, Path]
    path: Path | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, Origin] = field(default_factory=dict)
    dropped_inputs: frozenset[str] = frozenset()
    single: frozenset[str] = frozenset()
    kept: tuple[Any, ...] = ()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file's graph.

        Raises:
            ModelError: missing, broken, not ONNX; or its external weights are missing, cut short or outside.
            MissingExtra: onnx is not installed.
        """
        path = Path(path)
        return cls.of(load_graph(path), path.parent, path=path)

    @classmethod
    def of(cls, proto: Any, folder: Path, *, path: Path | None = None, kept: tuple[Any, ...] = ()) -> Self:
        """A ``ModelProto`` whose external weights, if it has any, lie in `folder`. Raises ModelError."""
        files = external_files(proto, path or folder / "model.onnx")
        draft = cls(proto=proto, files=MappingProxyType(files), path=path, kept=kept)
        return replace(
            draft,
            inputs={name: name for name in draft.input_names},
            outputs={value.name: Origin(value.name) for value in proto.graph.output},
        )

    # ── what it is ────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def digest(self) -> str:
        """``"sha256:…"`` of the file that it is or would be, without external weights."""
        if self.path is not None:
            return file_digest(self.path)
        return f"sha256:{hashlib.sha256(self.data).hexdigest()}"

    @property
    def data(self) -> bytes:
        """The bytes of the file; equal graphs give equal bytes."""
        if self.path is not None:
            return self.path.read_bytes()
        data: bytes = self.proto.SerializeToString(deterministic=True)
        return data

    @cached_property
    def walk(self) -> Walk:
        """Every node with its place."""
        return Walk(self.proto)

    @property
    def weights(self) -> frozenset[str]:
        """Names of the graph's own initializers, dense and sparse."""
        graph = self.proto.graph
        return frozenset(t.name for t in graph.initializer) | {
            s.values.name for s in graph.sparse_initializer
        }

    @property
    def input_names(self) -> tuple[str, ...]:
        """The inputs that a caller must give."""
        weights = self.weights
        return tuple(v.name for v in self.proto.graph.input if v.name not in weights)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.proto.graph.output)

    @property
    def opset(self) -> int:
        """The version of ONNX's own operators; 0 where it imports none."""
        return max((o.version for o in self.proto.opset_import if o.domain in ("", "ai.onnx")), default=0)

    def node_count(self) -> int:
        """Nodes, those of inner graphs and functions included."""
        return sum(1 for _ in self.walk.nodes())

    def external(self) -> Iterator[Any]:
        """Tensors whose numbers lie in `files`."""
        return (t for t in tensors(self.proto) if t.data_location == EXTERNAL)

    # ── the next one ──────────────────────────────────────────────────────────────────────────────────

    def copy(self) -> Any:
        """A ``ModelProto`` to change and to give to `edited`."""
        copied = type(self.proto)()
        copied.CopyFrom(self.proto)
        return copied

    def edited(
        self,
        proto: Any,
        *,
        inputs: Mapping[str, str] | None = None,
        outputs: Mapping[str, Origin] | None = None,
    ) -> Draft:
        """The same with another graph; without names, those of its inputs and outputs are as they were."""
        inputs = self.inputs if inputs is None else inputs
        return replace(
            self,
            proto=proto,
            path=None,
            inputs=inputs,
            dropped_inputs=self.dropped_inputs | (set(self.inputs.values()) - set(inputs.values())),
            outputs=self.outputs if outputs is None else outputs,
        )

    def refiled(self, proto: Any, files: Mapping[str, Path], kept: Any) -> Draft:
        """The same with another graph whose weights lie in other files; `kept` holds those files."""
        return replace(self.edited(proto), files=MappingProxyType(dict(files)), kept=(*self.kept, kept))

    def lay(self, folder: Path, name: str = "model.onnx", *, link: bool = True) -> Path:
        """Put it into a folder as files, for another process to read; returns the .onnx file.

        Args:
            folder: where.
            name: of the .onnx file; where a file of weights has it, the next that is free.
            link: external weights as hard links, where the file system can; else as copies.

        Raises:
            StorageError: no room.
        """
        used = {e.value for t in self.external() for e in t.external_data if e.key == "location"}
        name = free_name(name, used)
        write_whole(folder / name, self.data)
        try:
            lay_files({location: self.files[location] for location in used}, folder, link=link)
        except OSError as error:
            raise storage_error(error.filename or folder, error) from error
        return folder / name


def free_name(wanted: str, locations: Iterable[str]) -> str:
    """`wanted`, or ``wanted-1``, …: the name of a file that no file of weights has, nor a folder of theirs.

    Files of weights are laid as hard links: what is written under the name of one is written into the user's.
    """
    taken = {part.casefold() for location in locations for part in PurePath(location).parts[:1]}
    stem, suffix, name, number = PurePath(wanted).stem, PurePath(wanted).suffix, wanted, 0
    while name.casefold() in taken:
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name


def lay_files(files: Mapping[str, Path], folder: Path, *, link: bool = True) -> None:
    """Links, or copies, of files below a folder."""
    for location, source in files.items():
        place = folder / location
        if place.exists():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            if not link:
                raise OSError
            place.hardlink_to(source.resolve())
        except OSError:  # another file system, or one without hard links
            copy_sparse(source, place)


_PIECE = 1 << 20


def copy_sparse(source: Path, place: Path) -> None:
    """A copy in which runs of zeros take no room, where the file system can."""
    with source.open("rb") as reader, place.open("wb") as writer:
        copy_span(reader, writer, source.stat().st_size)
        writer.truncate(writer.tell())


def copy_span(reader: Any, writer: Any, length: int) -> None:
    """Copy `length` bytes from where `reader` stands to where `writer` stands, in pieces.

    Pieces of zeros are skipped; the caller truncates the file to its length at the end.

    Raises:
        OSError: the disk is full.
        EOFError: the reader ends before.
    """
    zeros = bytes(_PIECE)
    while length:
        piece = reader.read(min(_PIECE, length))
        if not piece:
            raise EOFError("the file ended before its weights")
        if piece == zeros[: len(piece)]:
            writer.seek(len(piece), os.SEEK_CUR)
        else:
            writer.write(piece)
        length -= len(piece)

"""What a model file says on its outside, before and beside ORT: is it there, whole, and ONNX at all.

ORT answers most mistakes with "Protobuf parsing failed", and shows an input of unknown rank as a scalar. An
ONNX file is one protobuf message (onnx.proto, ModelProto); a few of its fields are read here, without
loading the file: a handful of steps, whatever its size.
"""

from __future__ import annotations

import mmap
import stat
from collections.abc import Iterator
from pathlib import Path

from hotlap.errors import ModelError
from hotlap.tensors import nearest

__all__ = ["check_model_file", "external_names", "has_loop", "properties", "ranked_names"]

# Field numbers of onnx.proto.
_MODEL_GRAPH, _MODEL_PROPERTIES = 7, 14
_MODEL_FUNCTIONS, _FUNCTION_NODE, _FUNCTION_ATTRIBUTE = 25, 7, 11
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_SPARSE = 1, 5, 15
_NODE_OPERATOR, _NODE_ATTRIBUTE = 4, 5
_ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS, _ATTRIBUTE_SPARSE = (5, 10), (6, 11), (22, 23)
_SPARSE_TENSORS = (1, 2)
_TENSOR_EXTERNAL = 13
_ENTRY_KEY, _ENTRY_VALUE = 1, 2
_GRAPH_INPUT, _GRAPH_OUTPUT = 11, 12
_VALUE_NAME, _VALUE_TYPE = 1, 2
_TYPE_TENSOR = 1
_TENSOR_SHAPE = 2

_LOOPS = frozenset({b"Loop", b"BeamSearch", b"GreedySearch", b"Sampling", b"WhisperBeamSearch"})

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5  # protobuf's wire types
_DEEPEST = 32  # graphs inside of graphs; ORT itself reads no more than about that
_MOST_FIELDS = 1_000_000  # a garbage file must not keep us busy

Buffer = mmap.mmap | bytes


class _NotProtobuf(Exception):
    """`end`: where the field that does not fit would end; None where the bytes are no field at all."""

    def __init__(self, number: int = 0, end: int | None = None) -> None:
        self.number, self.end = number, end


def check_model_file(path: Path) -> None:
    """Looks at the file's outside; ORT judges the rest.

    Raises:
        ModelError: missing, a folder, unreadable, empty, not an ONNX file, or cut short.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise ModelError(
            f"{path}: its name is not UTF-8, and ONNX Runtime opens no other; rename it"
        ) from error
    try:
        if path.is_dir():
            raise ModelError(f"{path}: a folder, not a model file; name the .onnx file in it")
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            raise ModelError(f"{path}: not a regular file")
        with path.open("rb") as file:
            if status.st_size == 0:
                raise ModelError(f"{path}: the file is empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                _check(path, data)
    except FileNotFoundError as error:
        raise ModelError(f"{path}: no such file{_neighbour(path)}") from error
    except (OSError, ValueError) as error:  # ValueError: what cannot be mapped, or a name with a zero byte
        raise ModelError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def ranked_names(path: Path) -> frozenset[str]:
    """The inputs and outputs whose number of axes the model declares, be it none.

    ORT shows ``[]`` both for a scalar and for a tensor of which nothing is known. Empty for a file in ORT's
    own format, which is not read here.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if _is_ort_format(data):
            return frozenset()
        return frozenset(
            name
            for start, end in _inside(data, 0, len(data), _MODEL_GRAPH)
            for number in (_GRAPH_INPUT, _GRAPH_OUTPUT)
            for value in _inside(data, start, end, number)
            for name in _name_if_ranked(data, *value)
        )


def external_names(path: Path) -> frozenset[str]:
    """The files of external weights that the model names, as it spells them; wherever a tensor can stand.

    Empty for a file in ORT's own format.

    Raises:
        ModelError: what should be a graph is none.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return frozenset() if _is_ort_format(data) else _external_names(data)
        except _NotProtobuf:
            raise ModelError(f"{path}: not an ONNX model: what should be its graph does not parse") from None


def has_loop(path: Path) -> bool:
    """Whether values of an input can decide how often a part of the model is run (ONNX's Loop, and ORT's
    operators that generate), so that no measuring tells how long a call may take."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if _is_ort_format(data):
            return any(data.find(name) >= 0 for name in _LOOPS)
        graphs = [(*graph, _GRAPH_NODE) for graph in _inside(data, 0, len(data), _MODEL_GRAPH)]
        functions = [(*body, _FUNCTION_NODE) for body in _inside(data, 0, len(data), _MODEL_FUNCTIONS)]
        return any(name in _LOOPS for where in (*graphs, *functions) for name in _operators(data, *where, 0))


def properties(path: Path) -> dict[str, str]:
    """The model's metadata, as whoever made it has written it. Empty for a file in ORT's own format."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = {}
        for entry in () if _is_ort_format(data) else _inside(data, 0, len(data), _MODEL_PROPERTIES):
            key, value = (
                b"".join(data[s:e] for s, e in _inside(data, *entry, number))
                for number in (_ENTRY_KEY, _ENTRY_VALUE)
            )
            found[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        return found


def _operators(data: Buffer, start: int, end: int, number: int, deep: int) -> Iterator[bytes]:
    for node in _inside(data, start, end, number):
        for field, s, e in _fields(data, *node):
            if field == _NODE_OPERATOR:
                yield data[s:e]
            elif field == _NODE_ATTRIBUTE and deep < _DEEPEST:
                for graph in _several(data, s, e, _ATTRIBUTE_GRAPHS):
                    yield from _operators(data, *graph, _GRAPH_NODE, deep + 1)


def _external_names(data: Buffer) -> frozenset[str]:
    tensors: list[tuple[int, int]] = []
    for graph in _inside(data, 0, len(data), _MODEL_GRAPH):
        tensors += _tensors_of_graph(data, *graph, 0)
    for function in _inside(data, 0, len(data), _MODEL_FUNCTIONS):
        for node in _inside(data, *function, _FUNCTION_NODE):
            tensors += _tensors_of_attributes(data, *node, _NODE_ATTRIBUTE, 0)
        tensors += _tensors_of_attributes(data, *function, _FUNCTION_ATTRIBUTE, 0)
    return frozenset(name for tensor in tensors for name in _locations(data, *tensor))


def _tensors_of_graph(data: Buffer, start: int, end: int, deep: int) -> Iterator[tuple[int, int]]:
    yield from _inside(data, start, end, _GRAPH_INITIALIZER)
    for sparse in _inside(data, start, end, _GRAPH_SPARSE):
        yield from _several(data, *sparse, _SPARSE_TENSORS)
    for node in _inside(data, start, end, _GRAPH_NODE):
        yield from _tensors_of_attributes(data, *node, _NODE_ATTRIBUTE, deep)


def _tensors_of_attributes(
    data: Buffer, start: int, end: int, number: int, deep: int
) -> Iterator[tuple[int, int]]:
    for attribute in _inside(data, start, end, number):
        yield from _several(data, *attribute, _ATTRIBUTE_TENSORS)
        for sparse in _several(data, *attribute, _ATTRIBUTE_SPARSE):
            yield from _several(data, *sparse, _SPARSE_TENSORS)
        for graph in _several(data, *attribute, _ATTRIBUTE_GRAPHS) if deep < _DEEPEST else ():
            yield from _tensors_of_graph(data, *graph, deep + 1)


def _several(data: Buffer, start: int, end: int, numbers: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    for number in numbers:
        yield from _inside(data, start, end, number)


def _locations(data: Buffer, start: int, end: int) -> Iterator[str]:
    for entry in _inside(data, start, end, _TENSOR_EXTERNAL):
        keys = [data[s:e] for s, e in _inside(data, *entry, _ENTRY_KEY)]
        if keys == [b"location"]:
            for s, e in _inside(data, *entry, _ENTRY_VALUE):
                yield data[s:e].decode("utf-8", "replace")


def _neighbour(path: Path) -> str:
    try:
        return nearest(path.name, (p.name for p in path.parent.iterdir()))
    except OSError:
        return f"; there is no folder {path.parent} either"


def _is_ort_format(data: Buffer) -> bool:
    return data[4:8] == b"ORTM"  # a flatbuffer's file identifier


def _check(path: Path, data: Buffer) -> None:
    if data[:23] == b"version https://git-lfs":
        raise ModelError(f"{path}: a Git LFS pointer, not the model itself: fetch it with git lfs pull")
    if _is_ort_format(data):
        return
    found: set[int] = set()
    try:
        for number, _, _ in _fields(data, 0, len(data)):
            found.add(number)
    except _NotProtobuf as error:
        # Any text is cut short in some sense; only what began like a model is called so.
        if error.end is None or _MODEL_GRAPH not in {*found, error.number}:
            raise ModelError(f"{path}: not an ONNX file") from None
        raise ModelError(f"{path}: the file is cut short: it has {len(data)} bytes of {error.end}") from None
    if _MODEL_GRAPH not in found:
        raise ModelError(f"{path}: not an ONNX model: it holds no graph")


def _name_if_ranked(data: Buffer, start: int, end: int) -> Iterator[str]:
    ranked = any(
        True
        for kind in _inside(data, start, end, _VALUE_TYPE)
        for tensor in _inside(data, *kind, _TYPE_TENSOR)
        for _ in _inside(data, *tensor, _TENSOR_SHAPE)
    )
    for name_start, name_end in _inside(data, start, end, _VALUE_NAME):
        if ranked:
            yield data[name_start:name_end].decode("utf-8", "replace")


# ── protobuf's wire format ────────────────────────────────────────────────────────────────────────────


def _inside(data: Buffer, start: int, end: int, number: int) -> Iterator[tuple[int, int]]:
    """Where the sub-messages or texts of that field number begin and end."""
    return ((s, e) for n, s, e in _fields(data, start, end) if n == number)


def _fields(data: Buffer, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The fields of one message: number, and where its value begins and ends.

    Source: protobuf's "Encoding" page.
    """
    at = start
    for _ in range(_MOST_FIELDS):
        if at >= end:
            return
        tag, at = _varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        if wire not in (_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES) or number == 0:
            raise _NotProtobuf
        if wire == _VARINT:
            begin, (_, at) = at, _varint(data, at, end)
        else:
            length = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(wire, 0)
            if wire == _LENGTH:
                length, at = _varint(data, at, end)
            begin, at = at, at + length
        if at > end:
            raise _NotProtobuf(number, at)
        yield number, begin, at


def _varint(data: Buffer, at: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            raise _NotProtobuf
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _NotProtobuf

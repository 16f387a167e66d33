"""A request's bytes to arrays that fit the model: `decode_infer`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw

from hotlap.errors import InputError
from hotlap.wire.asked import asked, region_of, wanted_of
from hotlap.wire.header import Header, RequestInput, RequestOutput, read_header
from hotlap.wire.port import Port
from hotlap.wire.problems import Problems, Wrong, shown
from hotlap.wire.raw import raw_request, too_many
from hotlap.wire.signature import Signature, listed
from hotlap.wire.values import InferRequest, Region

__all__ = ["decode_infer"]

_SMALL = 64 * 1024
"""Bytes of a body that may be read twice, where the quick way finds that something is wrong with it."""
_MOST_SURPLUS = 64
"""Inputs beyond the model's that are still looked at, so as to say what is wrong with each."""


def decode_infer(
    body: bytes | memoryview, header_length: int | None, signature: Signature, *, most_elements: int
) -> InferRequest:
    """Reads one inference request.

    Args:
        body: the whole, decompressed. The arrays of numbers are views on it: it must not change any more.
        header_length: the Inference-Header-Content-Length; None: the whole body is JSON; 0: it is the bytes
            of the only input.
        signature: of the model.
        most_elements: of all inputs together.

    Returns:
        The request. Arrays need not be aligned, since the bytes start where the header ends; `Runner.run`
        copies those that are not.

    Raises:
        InputError: every problem of it, one line each.
        TooLarge: it has more elements than that.
    """
    if header_length == 0:
        return raw_request(_read_only(body), signature, most_elements)
    if header_length is None:
        header, size = read_header(body), len(body)
        plain = _plain(header, signature, most_elements) if size <= _SMALL else None
        return plain or _request(header, body, size, signature, most_elements)
    if not 0 < header_length <= len(body):
        raise InputError(
            f"the header Inference-Header-Content-Length says {header_length}, "
            f"expected at most {len(body):,}, the bytes of the body"
        )
    header = read_header(memoryview(body)[:header_length])
    return _request(header, _read_only(body), header_length, signature, most_elements)


def _read_only(body: bytes | memoryview) -> bytes | memoryview:
    return body if type(body) is bytes else memoryview(body).toreadonly()


def _plain(header: Header, signature: Signature, most: int) -> InferRequest | None:
    """The quick way for the commonest kind: small, each input as JSON of a shape that was seen before, and
    every output wanted as JSON. None where it is another kind, and where anything is wrong: `_request` says
    what."""
    inputs, ports = header.inputs, signature.inputs
    if header.parameters or signature.tied or len(inputs) != len(ports):
        return None
    if header.outputs and not _all_of_them(header.outputs, signature):
        return None
    feed: dict[str, Any] = {}
    elements = nbytes = 0
    for given in inputs:
        name, shape, data = given.name, given.shape, given.data
        port = ports.get(name)
        if port is None or given.datatype != port.datatype or given.parameters or type(data) is not Raw:
            return None
        count = port.counts.get(shape, most + 1)
        elements += count
        if elements > most:
            return None
        text = bytes(data)
        try:
            feed[name] = port.json.read(text, shape, count)
        except Wrong:
            return None
        nbytes += count * port.itemsize or len(text)
    if len(feed) != len(ports):
        return None
    return InferRequest(header.id or "", feed, nbytes=nbytes)


def _all_of_them(outputs: list[RequestOutput], signature: Signature) -> bool:
    """Whether they are the model's, in its order and without wishes: as if none were named."""
    if len(outputs) != len(signature.outputs):
        return False
    for output, name in zip(
        outputs, signature.outputs, strict=True
    ):  # `all` of a generator takes twice as long
        if output.name != name or output.parameters:
            return False
    return True


def _request(
    header: Header, body: bytes | memoryview, place: int, signature: Signature, most: int
) -> InferRequest:
    ports, end = signature.inputs, len(body)
    if len(header.inputs) > len(ports) + _MOST_SURPLUS:
        raise InputError(
            f"the request has {len(header.inputs):,} inputs, the model takes {len(ports)}: {listed(ports)}"
        )
    problems = Problems()
    feed: dict[str, Any] = {}
    regions: dict[str, Region] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    elements = nbytes = 0
    for given in header.inputs:
        name, wishes, data = given.name, given.parameters, given.data
        start, size = place, -1
        if wishes is not None and wishes.binary_data_size is not None:
            size = wishes.binary_data_size
            place += size
        try:
            port = ports.get(name)
            if port is None or given.datatype != port.datatype or name in shapes:
                raise _refused(given, signature, shapes, problems)
            shape = given.shape
            count = port.count(shape)
            elements += count
            if elements > most:
                raise too_many(elements, most)
            if size >= 0:
                if data is not UNSET or wishes.shared_memory_region is not None:  # type: ignore[union-attr]
                    raise Wrong("given in more than one way, expected one of data, bytes, shared memory")
                if place > end:
                    raise _short(start, size, end)
                feed[name] = port.view(shape, count, body, start, size)
                nbytes += size
            elif data is not UNSET:
                feed[name], read = _from_json(port, given, shape, count)
                nbytes += read
            else:
                regions[name] = region = _from_region(port, given, count)
                nbytes += region.nbytes
            shapes[name] = shape
        except Wrong as wrong:
            problems.add(f"input {shown(name)}: {wrong}")
    if len(shapes) < len(ports):
        _missing(header, signature, problems)
    if place < end:
        problems.add(f"{end - place:,} bytes are left after the last input's")
    signature.fit_together(shapes, problems)
    wishes_all = asked(header.parameters, problems)
    outputs = wanted_of(header.outputs, signature, wishes_all.binary, problems)
    problems.check()
    return InferRequest(
        header.id or "",
        feed,
        regions,
        {n: shapes[n] for n in regions} if regions else {},
        outputs,
        wishes_all.binary,
        wishes_all.priority,
        wishes_all.timeout,
        wishes_all.rest,
        nbytes,
    )


def _from_json(port: Port, given: RequestInput, shape: tuple[int, ...], count: int) -> tuple[Any, int]:
    """The array and its bytes; of text, those of the JSON: that is about what it takes as bytes."""
    if given.parameters is not None and given.parameters.shared_memory_region is not None:
        raise Wrong("given in more than one way, expected one of data, bytes, shared memory")
    if isinstance(given.data, Raw):
        text = bytes(given.data)
        return port.json.read(text, shape, count), count * port.itemsize or len(text)
    array = port.json.convert(given.data, shape, count)
    return array, array.nbytes


def _from_region(port: Port, given: RequestInput, count: int) -> Region:
    region = None if given.parameters is None else region_of(given.parameters)
    if region is None:
        raise Wrong("holds nothing: expected data, or the parameter binary_data_size or shared_memory_region")
    needs = count * (port.itemsize or 4)
    if region.nbytes < needs or (region.nbytes > needs and not port.text):
        raise Wrong(
            f"shared_memory_byte_size is {region.nbytes:,}, "
            f"{port.datatype} of shape {list(given.shape)} takes {needs:,}{' or more' if port.text else ''}"
        )
    return region


def _short(start: int, size: int, end: int) -> Wrong:
    left = max(end - start, 0)
    hint = "" if left else "; is the header Inference-Header-Content-Length missing or too large?"
    return Wrong(f"binary_data_size is {size:,}, but {left:,} bytes of the body are left{hint}")


def _refused(given: RequestInput, signature: Signature, seen: dict[str, Any], problems: Problems) -> Wrong:
    """Why this input is none of the model's."""
    if problems.full:
        return Wrong()
    if given.name not in signature.inputs:
        return Wrong(signature.unknown_input(given.name))
    if given.name in seen:
        return Wrong("given twice")
    port = signature.inputs[given.name]
    return Wrong(f"datatype is {shown(given.datatype)}, expected {port.datatype}: {port.spec.label}")


def _missing(header: Header, signature: Signature, problems: Problems) -> None:
    given = {i.name for i in header.inputs}
    for name, port in signature.inputs.items():
        if name not in given and not port.optional:
            problems.add(f"input {shown(name)}: missing, expected {port.datatype}: {port.spec.label}")

"""Requests without a header: the whole body is the only input's bytes, and the model says the rest."""

from __future__ import annotations

from hotlap.errors import InputError, TooLarge
from hotlap.tensors import Dim
from hotlap.wire.port import Port
from hotlap.wire.problems import Wrong, shown
from hotlap.wire.signature import Signature
from hotlap.wire.text import one_text
from hotlap.wire.values import InferRequest

__all__ = ["raw_request", "too_many"]


def raw_request(body: bytes | memoryview, signature: Signature, most: int) -> InferRequest:
    """The request that the bytes are: all outputs are wanted, as bytes.

    One axis may be free: it is as long as the bytes make it. Where more are, the first is 1. Of text the body
    is one cell, without its length.

    Raises:
        InputError: the model has several inputs, or the bytes do not make up such a tensor.
        TooLarge: more elements than `most`.
    """
    ports = list(signature.inputs.values())
    if len(ports) != 1:
        raise InputError(
            f"the request has no header (its length is 0), so all of it is one input's bytes; "
            f"the model has {len(ports)}: {', '.join(shown(p.name) for p in ports[:64])}"
        )
    port = ports[0]
    try:
        shape = _shape(port, len(body))
        count = port.count(shape)
        if count > most:
            raise too_many(count, most)
        array = one_text(body, shape) if port.text else port.view(shape, count, body, 0, len(body))
    except Wrong as wrong:
        raise InputError(f"input {shown(port.name)}: {wrong}") from None
    return InferRequest(feed={port.name: array}, binary=True, nbytes=len(body))


def _shape(port: Port, size: int) -> tuple[int, ...]:
    sizes: list[Dim] = list(port.spec.shape) if port.spec.ranked else [None]
    free = [axis for axis, dim in enumerate(sizes) if not isinstance(dim, int)]
    if port.text:
        if any(isinstance(dim, int) and dim != 1 for dim in sizes):
            raise Wrong(f"the body is one text, expected {port.spec.label}")
        return (1,) * len(sizes)
    if len(free) > 1 and free[0] == 0:
        sizes[free.pop(0)] = 1
    if len(free) > 1:
        raise Wrong(f"the bytes alone do not say the shape of {port.spec.label}: send a header")
    shape = [dim if isinstance(dim, int) else 1 for dim in sizes]
    row = port.itemsize
    for dim in shape:
        row *= dim
    if free and row:
        if size % row:
            raise Wrong(f"{size:,} bytes are no whole number of the {row:,} that {port.spec.label} takes")
        shape[free[0]] = size // row
    return tuple(shape)


def too_many(elements: int, most: int) -> TooLarge:
    """The error for inputs of that many elements."""
    return TooLarge(f"the inputs have {elements:,} elements or more, at most {most:,} are taken")

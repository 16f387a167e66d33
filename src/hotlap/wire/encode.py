"""A model's answers to the bytes of a reply: `encode_infer`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

import msgspec
import numpy.typing as npt

from hotlap.wire.classes import classified
from hotlap.wire.signature import Signature
from hotlap.wire.text import pack
from hotlap.wire.values import InferRequest, Wanted

__all__ = ["encode_infer"]

Array = npt.NDArray[Any]
Buffer = bytes | memoryview

_SIZE = b',"parameters":{"binary_data_size":%d}'


def encode_infer(
    request: InferRequest,
    signature: Signature,
    model: str,
    version: str,
    outputs: Mapping[str, Array],
    written: Collection[str] = (),
) -> tuple[list[Buffer], int | None]:
    """The reply to one request.

    Args:
        outputs: output to array, those that the request wants at least; C-contiguous.
        written: outputs that lie in shared memory already: the reply tells their type and shape alone.

    Returns:
        The buffers to send, one after the other, and the Inference-Header-Content-Length; None where no bytes
        follow the JSON. Large buffers are views on the arrays.
    """
    parts = [
        b"{" if not request.id else b'{"id":%b,' % msgspec.json.encode(request.id),
        _start(model, version),
    ]
    tail: list[Buffer] = []
    follows = 0
    for wanted in request.outputs or signature.all[request.binary]:
        port, array = signature.outputs[wanted.name], outputs[wanted.name]
        if wanted.classes:
            follows += _put_classes(parts, tail, wanted, array, signature)
        elif wanted.name in written:
            parts += (port.head(array.shape), b"},")
        elif wanted.binary:
            data = port.pack(array)
            parts += (port.head(array.shape), _SIZE % len(data), b"},")
            tail.append(data)
            follows += len(data)
        else:
            parts += (port.head(array.shape), b',"data":', port.json.write(array), b"},")
    parts[-1] = b"}]}"
    head = b"".join(parts)
    if not follows:
        return [head], None
    return _together(head, tail), len(head)


@lru_cache(256)
def _start(model: str, version: str) -> bytes:
    return b'"model_name":%b,"model_version":%b,"outputs":[' % (
        msgspec.json.encode(model),
        msgspec.json.encode(version),
    )


def _put_classes(
    parts: list[bytes], tail: list[Buffer], wanted: Wanted, array: Array, signature: Signature
) -> int:
    """Returns how many bytes follow the JSON for it."""
    texts = classified(array, wanted.classes, signature.labels.get(wanted.name, ()))
    head = b'{"name":%b,"datatype":"BYTES","shape":%b' % (
        msgspec.json.encode(wanted.name),
        msgspec.json.encode(texts.shape),
    )
    if wanted.binary:
        data = pack(texts)
        parts += (head, _SIZE % len(data), b"},")
        tail.append(data)
        return len(data)
    parts += (head, b',"data":', msgspec.json.encode(texts.ravel().tolist()), b"},")
    return 0


def _together(head: bytes, tail: list[Buffer]) -> list[Buffer]:
    """Small buffers as one, so that there is less to write."""
    if len(tail) == 1 and type(tail[0]) is bytes:
        return [head + tail[0]]
    found: list[Buffer] = []
    small = [head]
    for data in tail:
        if type(data) is bytes:
            small.append(data)
            continue
        found += (b"".join(small), data)
        small = []
    return [*found, b"".join(small)] if small else found

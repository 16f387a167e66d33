"""One question in the words of each server, and how to read its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.rivals.cases import Case

JSON = {"Content-Type": "application/json"}
LENGTH = "Inference-Header-Content-Length"
DATATYPES = {"float32": "FP32", "int64": "INT64"}


class Request(NamedTuple):
    """A POST. `read` takes the reply's headers and body; it gives the wanted output's values."""

    path: str
    headers: dict[str, str]
    body: bytes
    read: Callable[[Mapping[str, str], bytes], Any]


def v2_json(case: Case) -> Request:
    """The Open Inference Protocol, all of it JSON."""
    inputs = [{**_head(name, array), "data": array.ravel().tolist()} for name, array in case.feed.items()]
    body = {"inputs": inputs, "outputs": [{"name": case.wanted}]}

    def read(headers: Mapping[str, str], reply: bytes) -> Any:
        return json.loads(reply)["outputs"][0]["data"]

    return Request(_v2(case), JSON, _dumps(body), read)


def v2_binary(case: Case) -> Request:
    """The Open Inference Protocol with its extension of binary tensors, both ways."""
    inputs = [
        {**_head(name, array), "parameters": {"binary_data_size": array.nbytes}}
        for name, array in case.feed.items()
    ]
    wanted = {"name": case.wanted, "parameters": {"binary_data": True}}
    header = _dumps({"inputs": inputs, "outputs": [wanted]})
    tensors = b"".join(array.tobytes() for array in case.feed.values())

    def read(headers: Mapping[str, str], reply: bytes) -> Any:
        return np.frombuffer(reply[int(headers[LENGTH]) :], case.expected.dtype)

    headers = {"Content-Type": "application/octet-stream", LENGTH: str(len(header))}
    return Request(_v2(case), headers, header + tensors, read)


def plain(case: Case, path: str, read: Callable[[Any], Any] = lambda reply: reply["y"]) -> Request:
    """Each input's rows under its name: what a program of one's own would be asked."""
    body = _dumps({name: array.tolist() for name, array in case.feed.items()})
    return Request(path, JSON, body, lambda headers, reply: read(json.loads(reply)))


def _head(name: str, array: Any) -> dict[str, Any]:
    return {"name": name, "shape": list(array.shape), "datatype": DATATYPES[str(array.dtype)]}


def _v2(case: Case) -> str:
    return f"/v2/models/{case.name}/infer"


def _dumps(body: Any) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()

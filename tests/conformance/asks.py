"""Requests of the Open Inference Protocol, byte for byte: asked of Triton when it is recorded, and of hotlap.

They run in order on one connection after the other; some leave something behind for the next (a region, a
setting). Models: `mlp` (x FP32 [-1, 16] to y FP32 [-1, 4], rows may come together), `two` (a, b FP32 [-1]
to total and product) and `identity_DATATYPE` (x to y, [-1]).
"""

from __future__ import annotations

import gzip
import http.client
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["ASKS", "REGION", "Ask", "Told", "ask"]

REGION = "hotlap-conformance"
"""The file in the shared-memory folder. Before the first request it holds `REGION_BYTES`."""
_ROW = [0.5 * n - 3 for n in range(16)]
_SHM = "/v2/systemsharedmemory"
REGION_BYTES = struct.pack("<16f", *_ROW) + bytes(192)


@dataclass(frozen=True)
class Ask:
    """One request.

    Attributes:
        region: the piece (offset, bytes) of the shared file that is part of the answer.
    """

    name: str
    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    region: tuple[int, int] | None = None


@dataclass
class Told:
    """One answer.

    Attributes:
        json: the body, or its part before the binary data; None where there is none.
        binary: what follows it, as hexadecimal digits.
        headers: those that the protocol speaks of, by lower-case name.
        region: the piece of the shared file, as hexadecimal digits.
    """

    status: int
    json: Any = None
    binary: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    region: str = ""


_HEADERS = ("content-encoding", "content-type", "inference-header-content-length")
_UNPACK = {"gzip": gzip.decompress, "deflate": zlib.decompress}


def ask(host: str, port: int, one: Ask) -> Told:
    """Sends a request and reads the answer."""
    connection = http.client.HTTPConnection(host, port, timeout=30)
    try:
        connection.request(one.method, one.path, one.body or None, dict(one.headers))
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    headers = {n: v for n in _HEADERS if (v := answer.getheader(n)) is not None}
    body = _UNPACK.get(headers.get("content-encoding", ""), bytes)(body)
    length = int(headers.get("inference-header-content-length", len(body)))
    told = Told(answer.status, binary=body[length:].hex(), headers=headers)
    if body[:length]:
        told.json = json.loads(body[:length])
    if one.region is not None:
        start, size = one.region
        told.region = Path("/dev/shm", REGION).read_bytes()[start : start + size].hex()
    return told


# ── how they are made ────────────────────────────────────────────────────────────────────────────────────


def _infer(name: str, model: str, request: Any, binary: bytes | None = None, **more: Any) -> Ask:
    text = json.dumps(request, separators=(",", ":")).encode()
    headers = {"Content-Type": "application/json", **more.pop("headers", {})}
    if binary is not None:
        headers |= {
            "Content-Type": "application/octet-stream",
            "Inference-Header-Content-Length": str(len(text)),
        }
    pack = more.pop("pack", bytes)
    return Ask(name, "POST", f"/v2/models/{model}/infer", pack(text + (binary or b"")), headers, **more)


def _tensor(
    name: str, datatype: str, shape: list[int], data: Any = None, **parameters: Any
) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "shape": shape, "datatype": datatype}
    if parameters:
        made["parameters"] = parameters
    if data is not None:
        made["data"] = data
    return made


def _register(name: str, region: str, body: Any) -> Ask:
    return _post(name, f"{_SHM}/region/{region}/register", body)


def _post(name: str, path: str, body: Any = None) -> Ask:
    return Ask(name, "POST", path, b"" if body is None else json.dumps(body).encode())


def _get(name: str, path: str) -> Ask:
    return Ask(name, "GET", path)


def _texts(*texts: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(t)) + t for t in texts)


_X = _tensor("x", "FP32", [1, 16], _ROW)
_X_BINARY = _tensor("x", "FP32", [1, 16], binary_data_size=64)
_RAW = struct.pack("<16f", *_ROW)
_A, _B = _tensor("a", "FP32", [3], [1, 2, 3]), _tensor("b", "FP32", [3], [4, 5, 6])
_IN_REGION = {"shared_memory_region": "r", "shared_memory_byte_size": 64}
_OUT = {"shared_memory_region": "r", "shared_memory_byte_size": 16, "shared_memory_offset": 128}

_VALUES: dict[str, tuple[list[Any], bytes]] = {
    "BOOL": ([True, False, True], bytes([1, 0, 1])),
    "UINT8": ([0, 7, 255], bytes([0, 7, 255])),
    "UINT16": ([0, 7, 65535], struct.pack("<3H", 0, 7, 65535)),
    "UINT32": ([0, 7, 2**32 - 1], struct.pack("<3I", 0, 7, 2**32 - 1)),
    "UINT64": ([0, 2**53 + 1, 2**64 - 1], struct.pack("<3Q", 0, 2**53 + 1, 2**64 - 1)),
    "INT8": ([-128, 0, 127], struct.pack("<3b", -128, 0, 127)),
    "INT16": ([-32768, 0, 32767], struct.pack("<3h", -32768, 0, 32767)),
    "INT32": ([-(2**31), 0, 2**31 - 1], struct.pack("<3i", -(2**31), 0, 2**31 - 1)),
    "INT64": ([-(2**63), 2**53 + 1, 2**63 - 1], struct.pack("<3q", -(2**63), 2**53 + 1, 2**63 - 1)),
    "FP32": ([-1.5, 0, 3.4e38], struct.pack("<3f", -1.5, 0, 3.4e38)),
    "FP64": ([-1.5, 0.1, 1e300], struct.pack("<3d", -1.5, 0.1, 1e300)),
    "BYTES": (["one", "", "drei: ü"], _texts(b"one", b"", "drei: ü".encode())),
}


def _types() -> list[Ask]:
    made = []
    for datatype, (values, data) in _VALUES.items():
        model = f"identity_{datatype}"
        plain = {"inputs": [_tensor("x", datatype, [3], values)]}
        sized = _tensor("x", datatype, [3], binary_data_size=len(data))
        out = {"name": "y", "parameters": {"binary_data": True}}
        made += [
            _infer(f"{datatype}: JSON both ways", model, plain),
            _infer(f"{datatype}: bytes both ways", model, {"inputs": [sized], "outputs": [out]}, data),
            _infer(f"{datatype}: bytes in, JSON out", model, {"inputs": [sized]}, data),
        ]
    half = struct.pack("<3e", -1.5, 0, 65504)
    made.append(
        _infer(
            "FP16: bytes both ways",
            "identity_FP16",
            {
                "inputs": [_tensor("x", "FP16", [3], binary_data_size=6)],
                "outputs": [{"name": "y", "parameters": {"binary_data": True}}],
            },
            half,
        )
    )
    made.append(_infer("FP16: no JSON", "identity_FP16", {"inputs": [_tensor("x", "FP16", [3], [1, 2, 3])]}))
    return made


ASKS: list[Ask] = [
    # health
    _get("server live", "/v2/health/live"),
    _get("server ready", "/v2/health/ready"),
    _get("model ready", "/v2/models/mlp/ready"),
    _get("version ready", "/v2/models/mlp/versions/1/ready"),
    _get("unknown model ready", "/v2/models/nobody/ready"),
    _get("unknown version ready", "/v2/models/mlp/versions/9/ready"),
    # metadata and configuration
    _get("server metadata", "/v2"),
    _get("model metadata", "/v2/models/mlp"),
    _get("version metadata", "/v2/models/mlp/versions/1"),
    _get("two inputs metadata", "/v2/models/two"),
    _get("text metadata", "/v2/models/identity_BYTES"),
    _get("unknown model metadata", "/v2/models/nobody"),
    _get("unknown version metadata", "/v2/models/mlp/versions/9"),
    _get("model config", "/v2/models/mlp/config"),
    _get("two inputs config", "/v2/models/two/config"),
    _get("text config", "/v2/models/identity_BYTES/config"),
    _get("unknown model config", "/v2/models/nobody/config"),
    _post("metadata by POST", "/v2/models/mlp", {}),
    _get("no such address", "/v2/nowhere"),
    # statistics and the repository
    _get("statistics of all", "/v2/models/stats"),
    _get("statistics of one", "/v2/models/mlp/stats"),
    _get("statistics of an unknown model", "/v2/models/nobody/stats"),
    _post("repository index", "/v2/repository/index", {}),
    _post("repository index, no body", "/v2/repository/index"),
    _post("repository index, ready", "/v2/repository/index", {"ready": True}),
    _get("repository index by GET", "/v2/repository/index"),
    # settings
    _get("log settings", "/v2/logging"),
    _post("log: verbose", "/v2/logging", {"log_verbose_level": 1, "log_info": False}),
    _post("log: back", "/v2/logging", {"log_verbose_level": 0, "log_info": True}),
    _post("log: a text for a flag", "/v2/logging", {"log_info": "yes"}),
    _post("log: a file", "/v2/logging", {"log_file": "x.log"}),
    _post("log: no such format", "/v2/logging", {"log_format": "poem"}),
    _post("log: unknown setting", "/v2/logging", {"log_poems": True}),
    _get("trace settings", "/v2/trace/setting"),
    _post("trace: timestamps", "/v2/trace/setting", {"trace_level": ["TIMESTAMPS"], "trace_rate": "5"}),
    _get("trace settings of a model", "/v2/models/mlp/trace/setting"),
    _post("trace of a model", "/v2/models/mlp/trace/setting", {"trace_count": "7"}),
    _post("trace: off again", "/v2/trace/setting", {"trace_level": ["OFF"], "trace_rate": "1000"}),
    _post("trace: no such level", "/v2/trace/setting", {"trace_level": ["LOUD"]}),
    _post("trace: off and on", "/v2/trace/setting", {"trace_level": ["OFF", "TENSORS"]}),
    _post("trace: a rate that is none", "/v2/trace/setting", {"trace_rate": "often"}),
    _post("trace: a file", "/v2/trace/setting", {"trace_file": "x.json"}),
    _get("trace settings of an unknown model", "/v2/models/nobody/trace/setting"),
    # inference
    _infer("JSON", "mlp", {"inputs": [_X]}),
    _infer("JSON, nested", "mlp", {"inputs": [_tensor("x", "FP32", [2, 16], [_ROW, _ROW[::-1]])]}),
    _infer("JSON, with an id", "mlp", {"id": "seven", "inputs": [_X]}),
    _infer("an output by name", "mlp", {"inputs": [_X], "outputs": [{"name": "y"}]}),
    Ask("a version", "POST", "/v2/models/mlp/versions/1/infer", json.dumps({"inputs": [_X]}).encode()),
    Ask(
        "an unknown version", "POST", "/v2/models/mlp/versions/9/infer", json.dumps({"inputs": [_X]}).encode()
    ),
    _infer("an unknown model", "nobody", {"inputs": [_X]}),
    _infer("bytes in", "mlp", {"inputs": [_X_BINARY]}, _RAW),
    _infer(
        "bytes both ways",
        "mlp",
        {"inputs": [_X_BINARY], "outputs": [{"name": "y", "parameters": {"binary_data": True}}]},
        _RAW,
    ),
    _infer("bytes out by default", "mlp", {"parameters": {"binary_data_output": True}, "inputs": [_X]}),
    _infer(
        "bytes out by default, one as JSON",
        "two",
        {
            "parameters": {"binary_data_output": True},
            "inputs": [_A, _B],
            "outputs": [{"name": "total", "parameters": {"binary_data": False}}, {"name": "product"}],
        },
    ),
    _infer(
        "two inputs, one as bytes",
        "two",
        {"inputs": [_A, _tensor("b", "FP32", [3], binary_data_size=12)]},
        struct.pack("<3f", 4, 5, 6),
    ),
    _infer("two outputs", "two", {"inputs": [_A, _B]}),
    _infer("inputs the other way round", "two", {"inputs": [_B, _A]}),
    _infer("one of two outputs", "two", {"inputs": [_A, _B], "outputs": [{"name": "product"}]}),
    _infer(
        "outputs in another order",
        "two",
        {"inputs": [_A, _B], "outputs": [{"name": "product"}, {"name": "total"}]},
    ),
    Ask(
        "raw",
        "POST",
        "/v2/models/identity_FP32/infer",
        struct.pack("<3f", 1, 2, 3),
        {"Inference-Header-Content-Length": "0"},
    ),
    _infer(
        "priority and timeout", "mlp", {"parameters": {"priority": 0, "timeout": 30_000_000}, "inputs": [_X]}
    ),
    _infer("free parameters", "mlp", {"parameters": {"mine": "x", "n": 3, "b": True}, "inputs": [_X]}),
    _infer(
        "classification",
        "mlp",
        {"inputs": [_X], "outputs": [{"name": "y", "parameters": {"classification": 2}}]},
    ),
    _infer(
        "classification of two rows",
        "mlp",
        {
            "inputs": [_tensor("x", "FP32", [2, 16], [_ROW, _ROW[::-1]])],
            "outputs": [{"name": "y", "parameters": {"classification": 3}}],
        },
    ),
    _infer("gzip in", "mlp", {"inputs": [_X]}, pack=gzip.compress, headers={"Content-Encoding": "gzip"}),
    _infer(
        "deflate in", "mlp", {"inputs": [_X]}, pack=zlib.compress, headers={"Content-Encoding": "deflate"}
    ),
    *_types(),
    # inference that cannot be
    _infer("no inputs", "mlp", {"inputs": []}),
    _infer("no list of inputs", "mlp", {}),
    Ask("no JSON", "POST", "/v2/models/mlp/infer", b"{"),
    Ask("no body", "POST", "/v2/models/mlp/infer"),
    _infer("a list for a request", "mlp", [1]),
    _infer("an unknown input", "mlp", {"inputs": [_tensor("z", "FP32", [1, 16], _ROW)]}),
    _infer("one input too many", "mlp", {"inputs": [_X, _tensor("z", "FP32", [1], [1])]}),
    _infer("an input twice", "mlp", {"inputs": [_X, _X]}),
    _infer("an input missing", "two", {"inputs": [_A]}),
    _infer("an unknown output", "mlp", {"inputs": [_X], "outputs": [{"name": "z"}]}),
    _infer("another type", "mlp", {"inputs": [_tensor("x", "FP64", [1, 16], _ROW)]}),
    _infer("no such type", "mlp", {"inputs": [_tensor("x", "FLOAT", [1, 16], _ROW)]}),
    _infer("another shape", "mlp", {"inputs": [_tensor("x", "FP32", [1, 15], _ROW[:15])]}),
    _infer("an axis too few", "mlp", {"inputs": [_tensor("x", "FP32", [16], _ROW)]}),
    _infer("a negative axis", "mlp", {"inputs": [_tensor("x", "FP32", [-1, 16], _ROW)]}),
    _infer("too few numbers", "mlp", {"inputs": [_tensor("x", "FP32", [1, 16], _ROW[:3])]}),
    _infer("too many numbers", "mlp", {"inputs": [_tensor("x", "FP32", [1, 16], [*_ROW, 1])]}),
    _infer("text for a number", "mlp", {"inputs": [_tensor("x", "FP32", [1, 16], ["a"] * 16)]}),
    _infer("no data", "mlp", {"inputs": [_tensor("x", "FP32", [1, 16])]}),
    _infer("a number out of range", "identity_INT8", {"inputs": [_tensor("x", "INT8", [1], [300])]}),
    _infer("too few bytes", "mlp", {"inputs": [_X_BINARY]}, _RAW[:60]),
    _infer("too many bytes", "mlp", {"inputs": [_X_BINARY]}, _RAW + b"more"),
    _infer(
        "a size that does not fit the shape",
        "mlp",
        {"inputs": [_tensor("x", "FP32", [1, 16], binary_data_size=60)]},
        _RAW[:60],
    ),
    Ask(
        "a header longer than the body",
        "POST",
        "/v2/models/mlp/infer",
        b"{}",
        {"Inference-Header-Content-Length": "999"},
    ),
    Ask(
        "a header length that is none",
        "POST",
        "/v2/models/mlp/infer",
        b"{}",
        {"Inference-Header-Content-Length": "two"},
    ),
    Ask("infer by GET", "GET", "/v2/models/mlp/infer"),
    # shared memory
    _get("no regions", f"{_SHM}/status"),
    _post("unregister where there is nothing", f"{_SHM}/unregister"),
    _post(
        "register",
        f"{_SHM}/region/r/register",
        {"key": f"/{REGION}", "offset": 0, "byte_size": 256},
    ),
    _get("one region", f"{_SHM}/status"),
    _get("that region", f"{_SHM}/region/r/status"),
    _get("an unknown region", f"{_SHM}/region/q/status"),
    _post(
        "register again",
        f"{_SHM}/region/r/register",
        {"key": f"/{REGION}", "offset": 0, "byte_size": 4},
    ),
    _post(
        "register what is not there",
        f"{_SHM}/region/s/register",
        {"key": "/hotlap-none", "byte_size": 4},
    ),
    _post(
        "register too much",
        f"{_SHM}/region/s/register",
        {"key": f"/{REGION}", "byte_size": 4096},
    ),
    _register("register without a key", "s", {"byte_size": 4}),
    _register("register without a size", "s", {"key": f"/{REGION}"}),
    _infer("input in shared memory", "mlp", {"inputs": [_tensor("x", "FP32", [1, 16], **_IN_REGION)]}),
    _infer(
        "both in shared memory",
        "mlp",
        {
            "inputs": [_tensor("x", "FP32", [1, 16], **_IN_REGION)],
            "outputs": [{"name": "y", "parameters": _OUT}],
        },
        region=(120, 32),
    ),
    _infer(
        "one of two outputs in shared memory",
        "two",
        {
            "inputs": [_A, _B],
            "outputs": [
                {"name": "total", "parameters": {**_OUT, "shared_memory_offset": 192}},
                {"name": "product"},
            ],
        },
        region=(192, 16),
    ),
    _infer(
        "an input beyond its region",
        "mlp",
        {"inputs": [_tensor("x", "FP32", [1, 16], **_IN_REGION, shared_memory_offset=250)]},
    ),
    _infer(
        "an input of another size than its shape",
        "mlp",
        {"inputs": [_tensor("x", "FP32", [1, 16], shared_memory_region="r", shared_memory_byte_size=60)]},
    ),
    _infer(
        "an input in an unknown region",
        "mlp",
        {"inputs": [_tensor("x", "FP32", [1, 16], shared_memory_region="q", shared_memory_byte_size=64)]},
    ),
    _infer(
        "no room for an output",
        "mlp",
        {"inputs": [_X], "outputs": [{"name": "y", "parameters": {**_OUT, "shared_memory_byte_size": 8}}]},
    ),
    _post("unregister it", f"{_SHM}/region/r/unregister"),
    _post("unregister it again", f"{_SHM}/region/r/unregister"),
    _get("no regions again", f"{_SHM}/status"),
    _get("GPU regions", "/v2/cudasharedmemory/status"),
    _post("unregister GPU regions", "/v2/cudasharedmemory/unregister"),
    _post(
        "register a GPU region",
        "/v2/cudasharedmemory/region/g/register",
        {"raw_handle": {"b64": "AAAA"}, "device_id": 0, "byte_size": 64},
    ),
]

"""Ten thousand requests that nobody means well with: each gets what the table says, and the server lives."""

from __future__ import annotations

import copy
import gc
import gzip
import json
import mmap
import random
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.errors import InputError
from hotlap.serve.serving import Server
from hotlap.serve.shared import SharedMemory
from hotlap.serve.status import STATUS
from hotlap.tensors import TensorSpec
from hotlap.wire import decode
from tests.serve.http.turning import clients, halted, short, together
from tests.serve.http.wired import Answer, Client, get, infer, model, post, rows, serving, until

REQUESTS = 10_000
EXPECTED = {200, 400, 404, 413, 504}
"""A timeout of a microsecond is one that has passed."""
KNOWN = {row.status for row in STATUS.values()} | {200}

NUMBERS = [
    -1,
    0,
    1,
    3,
    4,
    5,
    63,
    64,
    65,
    2**31 - 1,
    2**31,
    2**32,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    1.5,
]
WORDS = [
    "",
    "x",
    "X",
    "y",
    "FP32",
    "INT64",
    "BYTES",
    "BF16",
    "r",
    "../r",
    "/",
    "\0",
    "ü" * 50,
    "{}",
    "m",
    "%",
]
ODD: list[Any] = [None, True, False, [], {}, [[]], [None], {"x": 1}, [0] * 100, *NUMBERS, *WORDS]
FIELDS = [
    "name", "datatype", "shape", "data", "parameters", "inputs", "outputs", "id", "binary_data_size",
    "binary_data", "classification", "shared_memory_region", "shared_memory_offset",
    "shared_memory_byte_size", "priority", "timeout", "sequence_id", "binary_data_output", "extra",
]  # fmt: skip


def regions(**more: Any) -> dict[str, Any]:
    return {"shared_memory_region": "r", "shared_memory_byte_size": 16, **more}


SOUND: list[dict[str, Any]] = [
    json.loads(infer(1.0)),
    {"id": "a", "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "parameters": regions()}]},
    {
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}],
        "outputs": [{"name": "y", "parameters": regions(shared_memory_offset=64)}],
    },
    {
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [[1, 2, 3, 4]]}],
        "outputs": [{"name": "y", "parameters": {"classification": 2}}],
        "parameters": {"timeout": 5_000_000, "priority": 1},
    },
    {
        "inputs": [
            {"name": "x", "datatype": "FP32", "shape": [1, 4], "parameters": {"binary_data_size": 16}}
        ],
        "outputs": [{"name": "y", "parameters": {"binary_data": True}}],
    },
    {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [2], "data": ["a", "ü"]}]},
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key in the value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    found = [(value, key) for key in keys]
    return found + [place for key in keys for place in places(value[key])]


def mutated(rng: random.Random) -> dict[str, Any]:
    request = copy.deepcopy(rng.choice(SOUND))
    for _ in range(rng.randint(0, 3)):
        spots = places(request)
        if not spots:
            break
        holder, key = rng.choice(spots)
        match rng.randint(0, 4):
            case 0:
                holder[key] = copy.deepcopy(rng.choice(ODD))
            case 1:
                del holder[key]
            case 2 if isinstance(holder, dict):
                holder[rng.choice(FIELDS)] = copy.deepcopy(rng.choice(ODD))
            case 3 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case 4 if isinstance(holder[key], int):
                holder[key] = rng.choice(NUMBERS)
    return request


def hostile(rng: random.Random) -> bytes:
    """A request."""
    text = json.dumps(mutated(rng)).encode()
    body, lines = text, []
    kind = rng.random()
    if kind < 0.35:
        body += bytes(rng.choice([0, 1, 15, 16, 17, 64])) if rng.random() < 0.5 else rng.randbytes(16)
        lines.append(f"Inference-Header-Content-Length: {len(text)}")
        if rng.random() < 0.1:
            wrong: Any = rng.choice([0, 1, len(text) - 1, len(text) + 1, len(body), len(body) + 1, 2**40])
            lines[-1] = f"Inference-Header-Content-Length: {wrong}"
    elif kind < 0.43:
        place = rng.randrange(len(body))
        body = body[:place] + rng.randbytes(rng.randint(0, 3)) + body[place + rng.randint(0, 3) :]
    elif kind < 0.55:
        coding = rng.choice(["gzip", "deflate"])
        body = gzip.compress(body) if coding == "gzip" else zlib.compress(body)
        lines.append(f"Content-Encoding: {coding}")
        if rng.random() < 0.2:
            body = body[: rng.randrange(len(body))] + rng.randbytes(rng.randint(0, 9))
        elif rng.random() < 0.1:
            body = gzip.compress(bytes(2_000_000), 1)  # a bomb
    name = rng.choice(["m"] * 12 + ["t"] * 4 + ["m/versions/1", "m/versions/1", "n", "m/versions/9"])
    request = post(body, f"/v2/models/{name}/infer", *lines)
    return request.replace(b"Host: h\r\n", b"Host: localhost\r\n")  # else it could name no region


class Parsed:
    """Counts the requests whose JSON was sound, whatever else was wrong with them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._read = decode.read_header
        monkeypatch.setattr(decode, "read_header", self._counted)

    def _counted(self, text: bytes | memoryview) -> Any:
        try:
            found = self._read(text)
        except InputError as error:
            self.count += "not JSON" not in str(error)
            raise
        self.count += 1
        return found


def taken() -> tuple[int, int]:
    """Open files, and bytes of memory; (0, 0) where the system does not say."""
    gc.collect()
    own = Path("/proc/self")
    if not own.is_dir():
        return 0, 0
    pages = int((own / "statm").read_text().split()[1])
    return len(list((own / "fd").iterdir())), pages * mmap.PAGESIZE


def test_ten_thousand_hostile_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = Parsed(monkeypatch)
    rng = random.Random(7)
    (tmp_path / "r").write_bytes(bytes(4096))
    shared = SharedMemory(tmp_path)
    shared.register("r", "/r", 0, 128)
    lengths = model(
        lambda feed: {"y": np.array([len(t) for t in feed["text"]])},
        "t",
        inputs=[TensorSpec.of("text", "string", ["N"])],
        outputs=[TensorSpec.of("y", "int64", ["N"])],
        inline=True,
    )
    seen: Counter[int] = Counter()
    with serving(model(inline=True), lengths, shared=shared, limits={"body": 1_000_000}) as server:
        client = Client(server)
        for number in range(REQUESTS):
            if number == REQUESTS // 2:
                half_way = taken()
            request = hostile(rng)
            answer = client.ask(request)
            assert answer.status in EXPECTED, (request, answer)
            if answer.status != 200:
                assert answer.error, request
            seen[answer.status] += 1
            if answer.headers.get("connection") == "close":
                client.socket.close()
                client = Client(server)
        assert parsed.count >= 0.7 * REQUESTS, parsed.count
        files, memory = taken()
        assert files <= half_way[0] and memory <= half_way[1] + 16e6
        assert set(seen) == EXPECTED, seen
        assert client.ask(post(infer(1.0))).y.tolist() == (rows(1.0) * 2).tolist()
        client.socket.close()
        until(lambda: not server._front.connections)
        until(lambda: (server._front.bodies, server.engine.inside) == (0, 0))


def test_in_company_each_is_told_what_it_is_told_alone(tmp_path: Path) -> None:
    rng = random.Random(9)
    (tmp_path / "r").write_bytes(bytes(4096))
    shared = SharedMemory(tmp_path)
    shared.register("r", "/r", 0, 128)
    one = short()
    with together(serving, one, shared=shared) as server, clients(server, 8) as asking:
        for _ in range(100):
            requests = [hostile(rng) for _ in asking]
            alone = [_told(server, request) for request in requests]
            with halted(server):
                for client, request in zip(asking, requests, strict=True):
                    client.send(request)
            for n, (client, request, expected) in enumerate(zip(list(asking), requests, alone, strict=True)):
                answer = client.answer()
                if 504 not in (answer.status, expected.status):  # a timeout of some microseconds may suffice
                    assert (answer.status, answer.body) == (expected.status, expected.body), request
                if answer.headers.get("connection") == "close":
                    client.socket.close()
                    asking[n] = Client(server)
        until(lambda: (server._front.bodies, server.engine.inside) == (0, 0))
        for client in asking:
            client.socket.close()


def _told(server: Server, request: bytes) -> Answer:
    with Client(server) as client:
        return client.ask(request)


def test_noise_is_refused(tmp_path: Path) -> None:
    rng = random.Random(8)
    sound = post(infer(1.0)) + get("/v2/health/live")
    with serving(limits={"head_time": 5.0, "body_time": 5.0}) as server:
        for _ in range(300):
            place = rng.randrange(len(sound))
            noise = rng.choice([rng.randbytes(rng.randint(1, 40)), b"\r\n", b"\r\n\r\n", b"\n", b":", b" "])
            with Client(server) as client:
                client.send(sound[:place] + noise + sound[place:] + b"\r\n\r\n")
                client.socket.shutdown(1)
                data = b""
                while piece := client.socket.recv(65536):
                    data += piece
            for line in data.split(b"HTTP/1.1 ")[1:]:
                assert int(line[:3]) in KNOWN | {100}
        until(lambda: not server._front.connections)
        until(lambda: (server._front.bodies, server.engine.inside) == (0, 0))
        with Client(server) as client:
            assert client.ask(post(infer(1.0))).status == 200

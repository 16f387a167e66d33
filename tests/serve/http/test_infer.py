from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotlap.errors import HotlapError, InputError, ModelError
from hotlap.serve.engine import Engine
from hotlap.serve.http.infer import Asked, Inference, _timing
from hotlap.serve.http.limits import Limits
from hotlap.serve.job import Job, Timeline
from hotlap.serve.shared import SharedMemory
from hotlap.serve.status import Malformed, Unknown, Unsupported
from hotlap.tensors import TensorSpec
from tests.serve.http.wired import binary, infer, model, rows

TEXT = TensorSpec.of("text", "string", ["N"])
LENGTH = TensorSpec.of("length", "int64", ["N"])


@pytest.fixture
def shared(tmp_path: Path) -> SharedMemory:
    return SharedMemory(tmp_path)


@pytest.fixture
def inference(shared: SharedMemory) -> Inference:
    lengths = model(
        lambda feed: {"length": np.array([len(t) for t in feed["text"]])},
        "lengths",
        inputs=[TEXT],
        outputs=[LENGTH],
    )
    return Inference(Engine([model(), lengths]), Limits(body=100_000), shared)


def asked(inference: Inference, name: str = "m", **headers: str) -> Asked:
    return inference.asked(
        {"model": name}, {k.replace("_", "-").encode(): v.encode() for k, v in headers.items()}, near=True
    )


def run(inference: Inference, ask: Asked, body: bytes) -> tuple[Any, dict[bytes, bytes]]:
    """What comes out of the model in between: the reply's body and its header lines."""
    plain = inference.unpacked(ask, body) if ask.encoding else body
    job = inference.begin(ask, plain, 1, lambda job: None)
    feed = dict(job.request.feed)
    for name, region in job.request.regions.items():
        assert job.read is not None
        feed[name] = np.empty(job.request.shapes[name], np.float32)
        job.read(region, feed[name])
    job.outputs = dict(job.model.runner.run(feed))
    reply = inference.finish(ask, job)
    assert reply.status == 200
    if ask.accepted:
        reply = inference.packed(ask, reply)
    return b"".join(bytes(b) for b in reply.body), dict(reply.headers)


# ── what a head says ──────────────────────────────────────────────────────────────────────────────────


def test_a_head_is_read_once(inference: Inference) -> None:
    assert asked(inference) == Asked("m", None, None, "", "", True)
    ask = inference.asked(
        {"model": "m", "version": "1"},
        {
            b"inference-header-content-length": b"12",
            b"content-encoding": b"X-GZIP",
            b"accept-encoding": b" deflate ",
        },
        near=False,
    )
    assert ask == Asked("m", "1", 12, "gzip", "deflate", False)
    assert asked(inference, content_encoding="identity").encoding == ""


@pytest.mark.parametrize("wish", ["gzip, deflate, br", "*", "br", "gzip;q=0", "", "identity"])
def test_what_libraries_send_by_themselves_is_no_wish(inference: Inference, wish: str) -> None:
    assert asked(inference, accept_encoding=wish).accepted == ""


@pytest.mark.parametrize("length", ["-1", "1.5", "", "0x10", "9" * 20, "1, 2"])
def test_a_length_is_a_number(inference: Inference, length: str) -> None:
    with pytest.raises(Malformed, match="Inference-Header-Content-Length is no number"):
        asked(inference, inference_header_content_length=length)


def test_other_codings_are_not_read(inference: Inference) -> None:
    with pytest.raises(Unsupported, match="expected gzip or deflate, got br"):
        asked(inference, content_encoding="br")


# ── from bytes to a job, and back ─────────────────────────────────────────────────────────────────────


def test_a_job_carries_its_request(inference: Inference) -> None:
    job = inference.begin(
        asked(inference), infer(2.0, id="i", parameters={"priority": 2, "timeout": 500_000}), 7, print
    )
    assert (job.model.name, job.request.id, job.request.priority, job.request.timeout) == ("m", "i", 2, 0.5)
    assert job.timeline.arrived == 7 and job.timeline.decoded > 7
    np.testing.assert_array_equal(job.request.feed["x"], rows(2.0))


def test_json_comes_back_as_json_and_bytes_as_bytes(inference: Inference) -> None:
    body, headers = run(inference, asked(inference), infer(1.0))
    assert json.loads(body)["outputs"][0]["data"] == [2.0] * 4
    assert set(headers) == {b"Server-Timing"}
    data, line = binary(rows(3.0))
    length = line.split(": ")[1]
    body, headers = run(inference, asked(inference, inference_header_content_length=length), data)
    place = int(headers[b"Inference-Header-Content-Length"])
    assert np.frombuffer(body[place:], np.float32).tolist() == [6.0] * 4


@pytest.mark.parametrize(
    ("computed", "finished", "said"),
    [
        (250_000, 262_000, b"parse;dur=0.013, queue;dur=0.000, compute;dur=0.237, encode;dur=0.012"),
        (13_000, 1_000_006, b"parse;dur=0.013, queue;dur=0.000, compute;dur=0.000, encode;dur=0.987"),
        (2_512_900, 2_600_000, b"parse;dur=0.013, queue;dur=0.000, compute;dur=2.500, encode;dur=0.087"),
    ],
)
def test_where_the_time_went_is_told_in_milliseconds(computed: int, finished: int, said: bytes) -> None:
    assert _timing(Timeline(7, 12_700, 12_900, computed), finished) == said


def test_a_raw_body_is_the_only_input(inference: Inference) -> None:
    fixed = model(lambda f: {"y": f["x"]}, inputs=[TensorSpec.of("x", "float32", [1, 4])])
    alone = Inference(Engine([fixed]), Limits(), SharedMemory())
    job = alone.begin(asked(alone, inference_header_content_length="0"), rows(5.0).tobytes(), 1, print)
    np.testing.assert_array_equal(job.request.feed["x"], rows(5.0))


def test_an_unknown_model_or_version_is_told(inference: Inference) -> None:
    with pytest.raises(Unknown, match=r'no model "lenghts" is served \(did you mean "lengths"'):
        inference.begin(asked(inference, "lenghts"), b"", 1, print)
    with pytest.raises(Unknown, match="has version 1"):
        inference.begin(inference.asked({"model": "m", "version": "3"}, {}, near=True), infer(1.0), 1, print)


def test_no_more_elements_than_are_taken(shared: SharedMemory) -> None:
    small = Inference(Engine([model()]), Limits(elements=7), shared)
    small.begin(asked(small), infer(1.0), 1, print)
    with pytest.raises(InputError, match="at most 7"):
        small.begin(asked(small), infer(1.0, 2.0), 1, print)


def test_an_error_is_told(inference: Inference) -> None:
    ask = asked(inference)
    job = inference.begin(ask, infer(1.0), 1, print)
    assert inference.finish(ask, job).status == 500
    job.error = InputError("no")
    assert inference.finish(ask, job).status == 400


def test_a_model_that_the_protocol_cannot_carry_is_named(shared: SharedMemory) -> None:
    with pytest.raises(ModelError, match="odd: "):
        Inference(
            Engine([model(name="odd", outputs=[TensorSpec("y", "seq(tensor(float))")])]), Limits(), shared
        )


# ── compression ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("encoding", "window"), [("gzip", 31), ("deflate", 15)])
def test_bodies_are_unpacked_and_answers_packed(inference: Inference, encoding: str, window: int) -> None:
    packing = zlib.compressobj(wbits=window)
    packed = packing.compress(infer(*range(200))) + packing.flush()
    ask = asked(inference, content_encoding=encoding, accept_encoding=encoding)
    body, headers = run(inference, ask, packed)
    assert headers[b"Content-Encoding"] == encoding.encode() and headers[b"Vary"] == b"Accept-Encoding"
    assert json.loads(zlib.decompress(body, window))["outputs"][0]["shape"] == [200, 4]


def test_a_bomb_is_refused(inference: Inference) -> None:
    packing = zlib.compressobj(wbits=31)
    bomb = packing.compress(b" " * 10**8) + packing.flush()
    with pytest.raises(InputError, match="larger than 100,000 bytes when it is unpacked"):
        inference.unpacked(asked(inference, content_encoding="gzip"), bomb)


# ── shared memory ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def region(shared: SharedMemory, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "r"
    path.write_bytes(bytes(1000))
    shared.register("r", "/r", 0, 1000)
    yield path
    shared.unregister()


def placed(name: str, offset: int, nbytes: int, **more: Any) -> dict[str, Any]:
    parameters = {
        "shared_memory_region": "r",
        "shared_memory_offset": offset,
        "shared_memory_byte_size": nbytes,
    }
    return {"name": name, "parameters": parameters, **more}


def test_tensors_come_from_shared_memory_and_go_there(inference: Inference, region: Path) -> None:
    x = rows(1.0, 2.0)
    region.write_bytes(bytes(64) + x.tobytes() + bytes(1000))
    body = {
        "inputs": [placed("x", 64, 32, datatype="FP32", shape=[2, 4])],
        "outputs": [placed("y", 512, 32)],
    }
    reply, headers = run(inference, asked(inference), json.dumps(body).encode())
    assert json.loads(reply)["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [2, 4]}]
    assert b"Inference-Header-Content-Length" not in headers
    assert region.read_bytes()[512:544] == (x * 2).tobytes()


def test_text_comes_from_shared_memory_too(inference: Inference, region: Path) -> None:
    text = b"\2\0\0\0ab\5\0\0\0hello"
    region.write_bytes(text + bytes(1000))
    body = {"inputs": [placed("text", 0, len(text), datatype="BYTES", shape=[2])]}
    reply, _ = run(inference, asked(inference, "lengths"), json.dumps(body).encode())
    assert json.loads(reply)["outputs"][0]["data"] == [2, 5]


def test_flags_in_shared_memory_are_0_or_1(shared: SharedMemory, region: Path) -> None:
    flags = TensorSpec.of("x", "bool", ["N"])
    ask = Inference(Engine([model(inputs=[flags], outputs=[flags])]), Limits(), shared)
    body = json.dumps({"inputs": [placed("x", 0, 3, datatype="BOOL", shape=[3])]}).encode()
    region.write_bytes(b"\0\1\1" + bytes(1000))
    job = ask.begin(asked(ask), body, 1, print)
    assert job.request.feed["x"].tolist() == [False, True, True]
    region.write_bytes(b"\0\1\2" + bytes(1000))
    with pytest.raises(InputError, match="bytes other than 0 and 1 for BOOL"):
        ask.begin(asked(ask), body, 1, print)


def test_room_that_is_not_there_is_told_before_the_model_runs(inference: Inference, region: Path) -> None:
    body = json.loads(infer(1.0)) | {"outputs": [placed("y", 990, 16)]}
    with pytest.raises(HotlapError, match="registered with 1000"):
        inference.begin(asked(inference), json.dumps(body).encode(), 1, print)


def test_a_region_that_was_cut_meanwhile_is_told(inference: Inference, region: Path) -> None:
    ask = asked(inference)
    body = {"inputs": [placed("x", 64, 16, datatype="FP32", shape=[1, 4])]}
    job: Job = inference.begin(ask, json.dumps(body).encode(), 1, print)
    os.truncate(region, 10)
    assert job.read is not None
    with pytest.raises(InputError, match="shorter than when it was registered"):
        job.read(job.request.regions["x"], np.empty((1, 4), np.float32))

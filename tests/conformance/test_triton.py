"""hotlap's answers beside those that were recorded from Triton, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hotlap.serve.serving import Server
from tests.conformance.asks import ASKS, REGION, REGION_BYTES, Ask, Told, ask

pytestmark = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm, which Linux has")

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded" / "triton.json").read_text("utf-8"))

_BAD_400 = "Triton says 500 to what is the client's mistake"
_UNKNOWN_404 = "unknown models and versions are 404 everywhere, in Triton 400 here"

OTHER_STATUS: dict[str, tuple[int, str]] = {
    "unknown model ready": (404, _UNKNOWN_404),
    "unknown version ready": (404, _UNKNOWN_404),
    "statistics of an unknown model": (404, _UNKNOWN_404),
    "trace settings of an unknown model": (404, _UNKNOWN_404),
    "log: a text for a flag": (400, _BAD_400),
    "log: no such format": (400, "Triton says 503 to what is the client's mistake"),
    "log: a file": (400, "no less the client's mistake than other values that cannot be"),
    "trace: a file": (400, "no less the client's mistake than other values that cannot be"),
    "log: unknown setting": (400, "Triton passes over it, and the client takes it for set"),
    "trace: no such level": (400, "Triton passes over it, and the client takes it for set"),
    "trace: timestamps": (200, "Triton refuses without a file for traces; here no file is written"),
    "FP16: no JSON": (200, "Triton has no FP16 in JSON"),
    "a number out of range": (400, "Triton lets 300 wrap to 44"),
    "no list of inputs": (400, _BAD_400),
    "no JSON": (400, _BAD_400),
    "a list for a request": (400, _BAD_400),
    "a negative axis": (400, _BAD_400),
    "too few numbers": (400, _BAD_400),
    "too many numbers": (400, _BAD_400),
    "text for a number": (400, _BAD_400),
    "register what is not there": (400, _BAD_400),
    "register too much": (400, _BAD_400),
    "no room for an output": (400, _BAD_400),
}
"""Where the status is another: hotlap's, and why."""

OTHER_ANSWER: dict[str, str] = {
    "server live": "kserve's client wants a body",
    "server ready": "kserve's client wants a body",
    "model ready": "kserve's client wants a body",
    "version ready": "kserve's client wants a body",
    "server metadata": "another server with other extensions",
    "repository index": "the recorded server lists none of its models",
    "repository index, no body": "the recorded server lists none of its models",
    "repository index, ready": "the recorded server lists none of its models",
    "statistics of all": "statistics",
    "trace settings of a model": "it follows the server's, which Triton did not set",
    "trace of a model": "it follows the server's, which Triton did not set",
    "bytes out by default, one as JSON": "the request's wish holds where an output has none",
    "outputs in another order": "in the order asked for; in Triton the backend decides",
}
"""Where the status is the same and the answer another, and why."""

_OF_THE_SERVER = {"platform", "backend", "default_model_filename"}
"""Fields that say which server it is."""
_OF_TRITON = {
    "batch_input", "batch_output", "cc_model_filenames", "dynamic_batching", "instance_group", "metric_tags",
    "model_transaction_policy", "model_warmup", "optimization", "parameters", "runtime", "version_policy",
}  # fmt: skip
"""Fields of a configuration that tell how Triton runs a model."""


@pytest.fixture(scope="module")
def told(server: Server) -> Iterator[dict[str, Told]]:
    """hotlap's answers to all requests, asked in order."""
    host, port = server.url.removeprefix("http://").split(":")
    region = Path("/dev/shm", REGION)
    region.write_bytes(REGION_BYTES)
    try:
        yield {one.name: ask(host, int(port), one) for one in ASKS}
    finally:
        region.unlink()


def test_each_request_was_recorded_and_each_difference_belongs_to_one() -> None:
    names = [one.name for one in ASKS]
    assert len(names) == len(set(names))
    assert list(RECORDED) == names
    assert set(OTHER_STATUS) | set(OTHER_ANSWER) <= set(names)
    assert set(OTHER_STATUS) & set(OTHER_ANSWER) == set()


@pytest.mark.parametrize("one", ASKS, ids=[one.name for one in ASKS])
def test_the_answer_is_tritons(one: Ask, told: dict[str, Told]) -> None:
    mine, recorded = told[one.name], Told(**RECORDED[one.name])
    if one.name in OTHER_STATUS:
        status, _ = OTHER_STATUS[one.name]
        assert (mine.status, recorded.status != status) == (status, True)
    else:
        assert mine.status == recorded.status
    if mine.status >= 400:
        assert list(mine.json) == ["error"]
        assert mine.json["error"]
        assert mine.headers["content-type"] == "application/json"
        return
    if one.name in OTHER_STATUS or one.name in OTHER_ANSWER:
        assert mine != recorded
        return
    assert _fields(mine.json) == _fields(recorded.json)
    assert (mine.binary, mine.region) == (recorded.binary, recorded.region)
    if mine.json is not None:
        assert mine.headers.get("content-type") == recorded.headers["content-type"]
        # The length of the header follows from its JSON, whose fields are compared above.
        length = "inference-header-content-length"
        assert (length in mine.headers) == (length in recorded.headers)


def _fields(body: Any) -> Any:
    if isinstance(body, dict):
        return {k: v for k, v in body.items() if k not in _OF_THE_SERVER | _OF_TRITON}
    return body


def test_statistics_have_tritons_fields(told: dict[str, Told]) -> None:
    for name in ("statistics of all", "statistics of one"):
        mine, recorded = told[name].json["model_stats"][0], RECORDED[name]["json"]["model_stats"][0]
        assert set(mine) >= set(recorded)
        assert set(mine["inference_stats"]) == set(recorded["inference_stats"])


def test_health_answers_with_what_kserves_client_reads(told: dict[str, Told]) -> None:
    assert told["server live"].json == {"live": True}
    assert told["server ready"].json == {"ready": True}
    assert told["model ready"].json == {"name": "mlp", "ready": True}


def test_outputs_come_in_the_order_asked_for_and_as_the_request_wishes(told: dict[str, Told]) -> None:
    ordered = told["outputs in another order"].json["outputs"]
    assert [o["name"] for o in ordered] == ["product", "total"]
    recorded = {o["name"]: o for o in RECORDED["outputs in another order"]["json"]["outputs"]}
    assert {o["name"]: o for o in ordered} == recorded
    wished = told["bytes out by default, one as JSON"]
    assert [o.get("data") for o in wished.json["outputs"]] == [[5.0, 7.0, 9.0], None]
    assert wished.binary == "000080400000204100009041"

"""The protocol's own clients, unchanged, in an environment of their own: tritonclient and kserve's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlap
from hotlap.serve.serving import Server
from tests.conformance.environment import run

CLIENTS = Path(__file__).parent / "clients"
X = np.linspace(-2, 2, 48, dtype=np.float32).reshape(3, 16)


def ask(client: str, address: str) -> Any:
    """What a client prints."""
    return json.loads(run(CLIENTS / f"{client}.py", address))


@pytest.fixture(scope="module")
def expected(server: Server) -> str:
    """The bytes of the model's own answer, as hexadecimal digits."""
    y: bytes = server.engine.models["mlp"].runner.run({"x": X})["y"].tobytes()
    return y.hex()


def test_tritonclient_over_http(server: Server, expected: str) -> None:
    told = ask("tritonclient_http", server.url.removeprefix("http://"))
    assert (told["live"], told["ready"], told["mlp ready"], told["nobody ready"]) == (True, True, True, False)
    assert (told["server"]["name"], told["server"]["version"]) == ("hotlap", hotlap.__version__)
    assert told["metadata"]["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 16]}]
    assert (told["config"]["max_batch_size"], told["config"]["input"][0]["dims"]) == (32, [16])
    assert {m["name"] for m in told["index"]} >= {"mlp", "two"}
    assert told["log"] == told["log settings"]
    assert told["trace"] == told["trace settings"]
    assert (told["trace"]["trace_level"], told["trace"]["trace_rate"]) == (["TIMESTAMPS"], "9")
    assert told["regions"] == told["gpu regions"] == []

    answers = {name: y for name, y in told.items() if name.startswith("mlp ") and name != "mlp ready"}
    assert answers == dict.fromkeys(answers, expected)
    assert len(answers) == 7
    assert told["many"] == [expected] * 32
    assert told["id"] == "seven"
    assert told["two"] == {"total": [2.0, 4.0], "product": [1.0, 4.0]}
    assert len(told["types"]) == 14 + 11
    assert [name for name, right in told["types"].items() if not right] == []

    y = np.frombuffer(bytes.fromhex(expected), np.float32).reshape(3, 4)
    best = [[f"{row[i]:f}:{i}" for i in np.argsort(-row)[:2]] for row in y]
    assert told["classes"] == best

    statuses = {name: told["errors"][name][0] for name in told["errors"]}
    assert statuses == {
        "unknown model": "404",
        "unknown version": "404",
        "unknown input": "400",
        "unknown output": "400",
        "shape": "400",
        "type": "400",
        "load": "501",
        "unload": "501",
    }
    assert told["errors"]["unknown model"][1] == 'no model "nobody" is served'
    (statistics,) = told["statistics"]["model_stats"]
    assert statistics["inference_stats"]["success"]["count"] >= 41
    assert statistics["inference_stats"]["fail"]["count"] >= 4
    assert statistics["inference_count"] >= 3 * 41


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm, which Linux has")
def test_tritonclient_with_shared_memory(server: Server, expected: str) -> None:
    told = ask("tritonclient_shared", server.url.removeprefix("http://"))
    region = {"name": "data", "key": told["key"], "offset": 0, "byte_size": X.nbytes + 1024}
    assert told["status"] == told["status of one"] == [region]
    assert told["answer"]["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [3, 4]}]
    assert told["in shared memory"] == told["input there, output in the reply"] == expected
    assert told["input left as it was"] is told["lives on"] is True
    assert told["texts"] == ["one", "drei: ü", ""]
    assert told["nothing left"] == []
    refused = {
        name: told[name][0] for name in ("no room", "cut short", "unregistered", "nowhere", "outside", "gpu")
    }
    assert refused == {
        "no room": "400",
        "cut short": "400",
        "unregistered": "404",
        "nowhere": "400",
        "outside": "400",
        "gpu": "400",
    }
    assert "shorter than when it was registered" in told["cut short"][1]


def test_kserves_client(server: Server, expected: str) -> None:
    told = ask("kserve_rest", server.url)
    assert (told["live"], told["ready"], told["mlp ready"], told["nobody ready"]) == (True, True, True, False)
    for form in ("bytes", "JSON"):
        assert told[form] == {"id": "seven", "model": "mlp", "y": expected}

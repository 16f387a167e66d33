"""What the benchmark of serving asks, runs, measures and claims."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import serve, serve_table
from benchmarks.rivals import asking, cases, load, servers, venvs
from benchmarks.rivals.bare import bare_session
from benchmarks.rivals.cases import Case
from benchmarks.rivals.running import running, tree
from benchmarks.rivals.servers import Server
from benchmarks.rivals.spans import Place, loaded, quietest, two_cpus

on_linux = pytest.mark.skipif(
    shutil.which("taskset") is None or len(getattr(os, "sched_getaffinity", lambda _: [])(0)) < 2,
    reason="it pins processes to two CPUs: taskset and two CPUs are wanted",
)

# A server of the standard library; with "wrong" it adds one to its answer, with "child" it has a child.
ANSWERS = """
import http.server, json, subprocess, sys, time
mode, port = sys.argv[1], int(sys.argv[2])
if mode == "ends":
    sys.exit("no such model")
if mode == "child":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        x = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["x"]
        reply = json.dumps({"y": [2 * v + (mode == "wrong") for v in x]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)
    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture
def place() -> Iterator[Place]:
    with two_cpus() as found:
        yield found


def doubling(folder: Path) -> Case:
    x = np.array([1.0, 2.0], np.float32)
    return Case("double", folder / "double.onnx", {"x": x}, "y", 2 * x)


def answering(mode: str) -> Server:
    return Server(
        "stand-in",
        lambda case, port, folder: [sys.executable, "-c", ANSWERS, mode, str(port)],
        lambda case: asking.plain(case, "/"),
    )


# ── the questions ─────────────────────────────────────────────────────────────────────────────────────


def test_each_server_is_asked_the_same_in_its_own_words(tmp_path: Path) -> None:
    case = doubling(tmp_path)
    told = json.loads(asking.v2_json(case).body)
    assert told == {
        "inputs": [{"name": "x", "shape": [2], "datatype": "FP32", "data": [1.0, 2.0]}],
        "outputs": [{"name": "y"}],
    }
    assert json.loads(asking.plain(case, "/predict").body) == {"x": [1.0, 2.0]}
    binary = asking.v2_binary(case)
    header = int(binary.headers[asking.LENGTH])
    assert json.loads(binary.body[:header])["inputs"][0]["parameters"] == {"binary_data_size": 8}
    assert binary.body[header:] == case.feed["x"].tobytes()


def test_each_answer_is_read_in_its_own_words(tmp_path: Path) -> None:
    case = doubling(tmp_path)
    assert asking.v2_json(case).read({}, b'{"outputs": [{"name": "y", "data": [2.0, 4.0]}]}') == [2.0, 4.0]
    assert asking.plain(case, "/").read({}, b'{"y": [2.0, 4.0]}') == [2.0, 4.0]
    reply = b"{}" + case.expected.tobytes()
    assert asking.v2_binary(case).read({asking.LENGTH: "2"}, reply).tolist() == [2.0, 4.0]


def test_the_small_model_is_asked_for_what_its_own_session_answers(tmp_path: Path) -> None:
    case = cases.small(tmp_path)
    assert (case.name, case.feed["x"].shape, case.expected.shape) == ("mlp", (1, 16), (1, 4))
    assert np.load(case.saved_feed())["x"].tolist() == case.feed["x"].tolist()


def test_rivals_run_on_the_onnxruntime_that_is_installed_here_and_every_version_is_pinned() -> None:
    for server in servers.ALL:
        if server.venv:
            pins = venvs.pins(server.venv)
            assert any(pin.startswith("onnxruntime==") for pin in pins)
            assert all("==" in pin for pin in pins), server.name


def test_what_does_not_install_is_skipped_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(name: str) -> Path:
        raise venvs.Missing(f"{name} does not install: no network")

    monkeypatch.setattr(venvs, "ready", fails)
    skipped: dict[str, str] = {}
    place = Place(0, 1, tmp_path)
    assert not serve._starts(servers.LITSERVE, doubling(tmp_path), place, skipped)
    assert skipped == {"LitServe": "litserve does not install: no network"}
    assert "LitServe: skipped, because" in capsys.readouterr().out


def test_without_wrk_there_is_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load.shutil, "which", lambda name: None)
    assert load.version() == ""
    with pytest.raises(venvs.Missing, match="wrk is not installed"):
        load.must_be_there()


# ── servers in processes ──────────────────────────────────────────────────────────────────────────────


@on_linux
def test_a_server_has_its_cpu_is_counted_with_its_children_and_ends_with_them(place: Place) -> None:
    case = doubling(place.folder)
    with running(answering("child"), case, place.server, place.folder) as one:
        members = tree(one.pid)
        assert len(members) == 2 and one.pid in members
        assert all(os.sched_getaffinity(pid) == {place.server} for pid in members)
        assert 0 < one.start_s < 60 and one.cpu_s() > 0 and one.memory() > 1e6
    until = time.monotonic() + 10
    while (left := {pid for pid in members if _lives(pid)}) and time.monotonic() < until:
        time.sleep(0.01)
    assert left == set()


def _lives(pid: int) -> bool:
    """Not ended: one that its parent has not yet waited for has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@on_linux
@pytest.mark.parametrize(
    ("mode", "said"), [("wrong", "stand-in: a wrong answer: "), ("ends", "it ended with 1\nno such model")]
)
def test_a_server_that_answers_wrong_or_not_at_all_is_not_measured(
    place: Place, mode: str, said: str
) -> None:
    with (
        pytest.raises(RuntimeError, match=said),
        running(answering(mode), doubling(place.folder), place.server, place.folder),
    ):
        raise AssertionError("it was measured")


@on_linux
@pytest.mark.parametrize("server", [servers.HOTLAP, servers.BINARY, servers.FLOOR], ids=lambda s: s.name)
def test_our_own_server_and_the_socket_alone_answer_what_they_are_asked(place: Place, server: Server) -> None:
    with running(server, cases.small(place.folder), place.server, place.folder) as one:
        assert one.cpu_s() > 0


@on_linux
def test_the_session_alone_is_asked_again_and_again(place: Place) -> None:
    with bare_session(cases.small(place.folder), place.server) as bare:
        assert all(0 < bare.p50(0.1) < 1 for _ in range(3))
        assert bare.cpu_s() > 0
        assert os.sched_getaffinity(bare.process.pid) == {place.server}
        bare.process.kill()
        with pytest.raises(RuntimeError, match="the bare session ended with -9"):
            bare.p50(0.1)


@on_linux
@pytest.mark.skipif(not load.version(), reason="wrk is not installed")
def test_a_load_tells_what_the_client_saw_and_what_the_server_took(place: Place) -> None:
    with running(answering("right"), doubling(place.folder), place.server, place.folder) as one:
        seen = loaded(one, 2, 1.0, place)
    assert seen["per_s"] > 10 and 0 < seen["p50_us"] <= seen["p99_us"] and seen["cpu_us"] > 0
    assert seen["foreign"] is None or 0 <= seen["foreign"] <= 1


@on_linux
@pytest.mark.skipif(not load.version(), reason="wrk is not installed")
def test_a_load_whose_requests_fail_counts_for_nothing(place: Place) -> None:
    with running(answering("right"), doubling(place.folder), place.server, place.folder) as one:
        bad = one.request._replace(body=b"{}")
        with pytest.raises(RuntimeError, match="requests failed"):
            load.load(one.port, bad, connections=1, seconds=1, cpu=place.client, folder=place.folder)


@on_linux
def test_the_process_itself_uses_the_two_cpus_only_while_it_measures() -> None:
    before = os.sched_getaffinity(0)
    with two_cpus() as place:
        assert os.sched_getaffinity(0) == {place.server, place.client}
    assert os.sched_getaffinity(0) == before


def test_the_quietest_try_counts_and_the_first_quiet_one_is_the_last() -> None:
    shares = iter([0.5, 0.2, 0.3, 0.01])
    found = quietest(lambda: {"foreign": next(shares)}, 3)
    assert found == {"foreign": 0.2} and next(shares) == 0.01
    tries = iter([{"foreign": 0.04, "n": 1}, {"foreign": 0.0, "n": 2}])
    assert quietest(lambda: next(tries), 3)["n"] == 1
    assert quietest(lambda: {"foreign": None}, 3) == {"foreign": None}


# ── the table ─────────────────────────────────────────────────────────────────────────────────────────


def served(name: str, p50: float, per_s: float, cpu: float, **fields: Any) -> list[dict[str, Any]]:
    span = {"p50_us": p50, "p99_us": 2 * p50, "per_s": per_s, "cpu_us": cpu, "foreign": 0.0}
    c1 = span | {"per_s": 1e6 / p50} | fields
    trial = {"part": "mlp", "server": name, "c1": c1, "c32": span, "start_s": 0.9, "memory_bytes": 80e6}
    return [{**trial, "key": f"{name} {n}"} for n in range(8)]


MLP = [
    *served("hotlap", 120, 12_000, 40),
    *served("FastAPI", 300, 4_000, 240),
    *served("MLServer", 640, 2_700, 360),
]


def data(trials: list[dict[str, Any]], **skipped: str) -> dict[str, Any]:
    return {
        "trials": trials,
        "skipped": skipped,
        "versions": {"FastAPI": {"uvicorn": "1"}},
        "client": "wrk 4",
    }


def rows_of(trials: list[dict[str, Any]]) -> dict[str, list[str]]:
    lines = [line for line in serve.table(data(trials)).splitlines() if line.startswith("|")]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_every_claim_stands_beside_its_limit() -> None:
    rows = rows_of(MLP)
    assert rows["MLP, one client, p50: FastAPI"] == [
        "120 µs", "300 µs", "0.40 (0.40 to 0.40)", "at most 0.5", "yes",
    ]  # fmt: skip
    assert rows["MLP, one client, p50: MLServer"][2:] == ["0.19 (0.19 to 0.19)", "at most 0.25", "yes"]
    assert rows["MLP, 32 clients, CPU time a request: MLServer"][3:] == ["at most 0.2", "yes"]
    assert rows["MLP, 32 clients, requests a second: FastAPI"][1:] == [
        "4,000", "3.00 (3.00 to 3.00)", "at least 2.5", "yes",
    ]  # fmt: skip
    assert rows["MLP, 32 clients, CPU time a request"] == ["40 µs", "", "", "at most 60 µs", "yes"]
    assert rows["MLP server, memory after the load"] == ["80 MB", "", "", "at most 120 MB", "yes"]
    assert rows["from command to first answer"] == ["0.90 s", "", "", "at most 1.50 s", "yes"]
    assert rows["MLServer"][:5] == ["640 µs", "1,280 µs", "2,700", "640 µs", "360 µs"]
    assert rows["MLP server, CPU while idle"] == ["*not measured*", "", "", "", ""]


def test_what_is_beyond_its_limit_says_so() -> None:
    slow = [*served("hotlap", 200, 9_000, 61), *MLP[8:]]
    rows = rows_of(slow)
    assert rows["MLP, one client, p50: FastAPI"][4] == "**no**"
    assert rows["MLP, 32 clients, requests a second: FastAPI"][4] == "**no**"
    assert rows["MLP, 32 clients, CPU time a request"][4] == "**no**"


def test_a_model_of_milliseconds_large_tensors_and_nothing_to_do() -> None:
    waits = {"the bare session": 5000.0, "hotlap": 5100.0, "hotlap, binary": 5200.0, "a socket alone": 5050.0}
    # The machine's speed changes from lap to lap: within one it is the same for all.
    trials: list[dict[str, Any]] = [
        {
            "part": "minilm",
            "key": str(n),
            "laps": [
                {"p50s_us": {name: p50 * speed for name, p50 in waits.items()}, "foreign": 0.0}
                for speed in (1.0, 1.0 + n / 10, 1.0)
            ],
        }
        for n in range(8)
    ]
    trials += [
        {"part": "shared", "key": str(n), "http_s": 1e-3, "memory_s": 4e-4, "foreign": 0} for n in range(8)
    ]
    trials += [{"part": "idle", "key": "", "share": 0.012}]
    rows = rows_of(trials)
    bare = "MiniLM, 64 tokens, one client, p50"
    assert rows[f"{bare}, JSON: the bare session"] == [
        "5,100 µs", "5,000 µs", "1.020 (1.020 to 1.020)", "at most 1.03", "yes",
    ]  # fmt: skip
    assert rows[f"{bare}, binary: the bare session"][4] == "**no**"
    assert rows[f"{bare}, a socket alone in hotlap's place: the bare session"] == [
        "5,050 µs", "5,000 µs", "1.010 (1.010 to 1.010)", "", "",
    ]  # fmt: skip
    assert rows[f"{bare}, JSON: a socket alone"][2:] == ["1.010 (1.010 to 1.010)", "", ""]
    assert rows[f"{bare}, JSON: FastAPI"] == ["*not measured*", "", "", "", ""]
    assert rows["600 KB through shared memory, p50: over HTTP"][:3] == [
        "400 µs",
        "1,000 µs",
        "0.40 (0.40 to 0.40)",
    ]
    assert rows["MLP server, CPU while idle"] == ["1.2 %", "", "", "at most 1.0 %", "**no**"]


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ([*MLP[:16], *served("MLServer", 400, 2_700, 360)], "MLServer answers 0.75 of FastAPI's"),
        (MLP[:16], "FastAPI or MLServer, which show whether it measures right, is missing"),
        (served("hotlap", 120, 1, 1, foreign=0.2) + MLP[8:], ""),
        ([t | {"c32": t["c32"] | {"foreign": 0.2}, "c1": t["c1"] | {"foreign": 0.06}} for t in MLP],
         "other work took more than 5 % of the CPUs in 100 % of the spans"),
        ([*MLP, {"part": "minilm", "key": "0", "laps": [{"p50s_us": {}, "foreign": 0.3}] * 100}],
         "other work took more than 5 % of the CPUs in 68 % of the spans"),
    ],
)  # fmt: skip
def test_a_run_is_void_where_the_rivals_are_not_where_they_should_be_or_others_disturb_it(
    trials: list[dict[str, Any]], said: str
) -> None:
    assert serve_table.void(trials).startswith(said) and bool(serve_table.void(trials)) == bool(said)
    kept = rows_of(trials)["MLP, 32 clients, CPU time a request"][4]
    assert (kept == "void") == bool(said)


def test_the_table_says_what_was_skipped_and_on_what_the_rest_stands() -> None:
    text = serve.table(data(MLP, LitServe="litserve does not install: no network"))
    assert "LitServe: skipped, because litserve does not install: no network." in text
    assert "Client: wrk 4. FastAPI: uvicorn 1. Other work on the two CPUs: at most 0.0 % in a span." in text


def test_the_servers_have_a_table_of_their_own() -> None:
    view = serve.VIEWS["servers"]
    lines = view(data(MLP)).strip().splitlines()
    assert lines[0].startswith("| MLP, every server | one client, p50 |")
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| hotlap", "| FastAPI", "| MLServer"]
    assert view(data(MLP[:16])).startswith("**Void: ")


def test_nothing_measured_is_a_table_too() -> None:
    assert "*not measured*" in serve.table(data([])) and serve_table.void([]) == ""


@on_linux
def test_one_part_is_measured_and_the_others_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(trials: Any, size: Any, place: Any, skipped: Any) -> None:
        raise venvs.Missing("wrk is not installed")

    old = [{"part": "idle", "key": "", "share": 0.1}, {"part": "shared", "key": "0"}]
    (tmp_path / "serve.json").write_text(json.dumps({"data": data(old, shared="of old")}))
    monkeypatch.setattr(serve, "KEPT", tmp_path / "serve.trials.jsonl")
    monkeypatch.setattr(serve, "RESULT", tmp_path / "serve.json")
    monkeypatch.setitem(
        serve.PARTS, "idle", lambda trials, *_: trials.once("idle", "", lambda: {"share": 0.2})
    )
    monkeypatch.setitem(serve.PARTS, "shared", missing)
    monkeypatch.setattr(servers, "versions", dict)
    found = serve.main(False, ["idle"])
    assert found["trials"] == [old[1], {"part": "idle", "key": "", "share": 0.2}]
    assert found["skipped"] == {"shared": "of old"}
    assert serve.main(False, ["shared"])["skipped"] == {"shared": "wrk is not installed"}
    assert not (tmp_path / "serve.trials.jsonl").exists()
    with pytest.raises(SystemExit, match="no part none"):
        serve.main(True, ["none"])

from __future__ import annotations

import gzip
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlap
from tests import tiny
from tests.serve.http.wired import Client, get, post

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and Unix sockets")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("serve")
    tiny.save(tiny.mlp(), made / "mlp.onnx")
    return made


class Running:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], document: dict[str, Any]) -> None:
        self.process = process
        self.url: str = document["urls"][0]
        self.document = document

    def end(self, *signals: int) -> int:
        for number in signals:
            self.process.send_signal(number)
        return self.process.wait(timeout=30)


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Running]:
    command = [sys.executable, "-m", "hotlap", "serve", "--json", "--http", "0", *arguments]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        lines = ""
        while lines.count("{") != lines.count("}") or not lines:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            lines += line
        try:
            yield Running(process, json.loads(lines))
        finally:
            process.kill()


def failed(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "hotlap", "serve", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stderr.strip()


def body(x: Any) -> bytes:
    tensor = {"name": "x", "datatype": "FP32", "shape": list(x.shape), "data": x.ravel().tolist()}
    return json.dumps({"inputs": [tensor]}).encode()


X = np.linspace(-1, 1, 16, dtype=np.float32)[None]


def test_a_model_is_served_until_sigterm(folder: Path) -> None:
    with hotlap.open(folder / "mlp.onnx") as runner:
        expected = runner.run({"x": X})["y"]
    with running(folder, "mlp.onnx", "second=mlp.onnx") as server:
        assert server.document["models"] == ["mlp", "second"]
        for name in ("mlp", "second"):
            with Client(server.url) as client:
                assert client.ask(get("/v2/health/ready")).json == {"ready": True}
                answer = client.ask(post(body(X), f"/v2/models/{name}/infer"))
                np.testing.assert_array_equal(answer.y, expected)
        assert server.end(signal.SIGTERM) == 0


def test_ctrl_c_ends_it_too(folder: Path) -> None:
    with running(folder, "mlp.onnx", "--no-uvloop") as server:
        assert server.end(signal.SIGINT) == 0


def test_the_second_signal_ends_it_at_once(folder: Path) -> None:
    with running(folder, "mlp.onnx", "--drain", "60s") as server, Client(server.url, small=True) as client:
        # An answer that nobody takes holds up the end: one that no socket's buffers hold.
        large, line = _binary(np.zeros((900_000, 16), np.float32))
        request = post(gzip.compress(large, 1), "/v2/models/mlp/infer", line, "Content-Encoding: gzip")
        client.send(request)
        assert client.socket.recv(1) == b"H"
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(timeout=0.5)
        assert server.end(signal.SIGTERM) == -signal.SIGTERM


def _binary(x: Any) -> tuple[bytes, str]:
    tensor = {"name": "x", "datatype": "FP32", "shape": x.shape, "parameters": {"binary_data_size": x.nbytes}}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    return head + x.tobytes(), f"Inference-Header-Content-Length: {len(head)}"


def test_sigterm_under_load_loses_nothing_and_tells_each_client_that_it_was_the_last(folder: Path) -> None:
    statuses: queue.SimpleQueue[int] = queue.SimpleQueue()
    told: queue.SimpleQueue[int] = queue.SimpleQueue()
    with running(folder, "mlp.onnx") as server:

        def ask() -> None:
            with Client(server.url) as client:
                last = ""
                while last != "close":
                    answer = client.ask(post(body(X), "/v2/models/mlp/infer"))
                    statuses.put(answer.status)
                    last = answer.headers.get("connection", "")
                told.put(answer.status)

        threads = [threading.Thread(target=ask, daemon=True) for _ in range(6)]
        for thread in threads:
            thread.start()
        while statuses.qsize() < 100:
            threading.Event().wait(0.01)
        assert server.end(signal.SIGTERM) == 0
        for thread in threads:
            thread.join(timeout=20)
            assert not thread.is_alive()
    # Nobody's request was cut off: each connection ended with an answer that said so.
    assert told.qsize() == 6
    assert {statuses.get() for _ in range(statuses.qsize())} <= {200, 503}


def test_a_unix_socket_alone(folder: Path) -> None:
    command = [sys.executable, "-m", "hotlap", "serve", "mlp.onnx", "--uds", "s.sock", "--uds-mode", "660"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready: mlp on http+unix://%2F")
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(str(folder / "s.sock"))
            client.sendall(get("/v2/health/live", "Connection: close"))
            assert b'{"live":true}' in b"".join(iter(lambda: client.recv(1000), b""))
        process.terminate()
        assert process.wait(timeout=20) == 0
    assert not (folder / "s.sock").exists()


def test_a_token_from_a_file(folder: Path) -> None:
    (folder / "token").write_text("s3cret\n")
    with (
        running(folder, "mlp.onnx", "--token-file", "token", "--max-body", "1kB") as server,
        Client(server.url) as client,
    ):
        assert client.ask(post(body(X), "/v2/models/mlp/infer")).status == 401
        bearer = "Authorization: Bearer s3cret"
        assert client.ask(post(body(X), "/v2/models/mlp/infer", bearer)).status == 200
        assert client.ask(post(b"", "/v2/models/mlp/infer", bearer, length=1001)).status == 413


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("none.onnx",), 2, "none.onnx"),
        (("mlp.onnx", "mlp.onnx"), 2, 'two targets would be served as "mlp"'),
        (("mlp.onnx", "--tls-key", "k"), 2, "--tls-key goes with --tls-cert"),
        (("mlp.onnx", "--tls-cert", "none"), 2, "none: no such file"),
        (("mlp.onnx", "--token-file", "none"), 2, "none: No such file"),
        (("mlp.onnx", "--token-file", "mlp.onnx"), 2, "a token"),
        (("mlp.onnx", "--uds", "mlp.onnx"), 2, "exists and is no socket"),
        (("mlp.onnx", "--uds", "s", "--uds-mode", "999"), 2, "three octal digits"),
        (("mlp.onnx", "--host", "no.such.host.invalid"), 2, "cannot be found"),
        ((), 2, "Missing argument"),
    ],
)
def test_what_cannot_be_is_one_line(folder: Path, arguments: tuple[str, ...], code: int, text: str) -> None:
    found, said = failed(folder, "--http", "0", *arguments)
    assert found == code
    assert text in said and said.startswith("hotlap: ") and "Traceback" not in said


def test_without_the_extra_its_name_is_told_before_a_model_is_loaded(folder: Path) -> None:
    code = "import sys; sys.modules['httptools'] = None; from hotlap.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", "none.onnx"], cwd=folder, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.strip()) == (
        3,
        "hotlap: serving needs an extra: pip install 'hotlap[serve]'",
    )


def test_where_uvloop_is_asked_for_and_missing_that_is_told_before_a_model_is_loaded(folder: Path) -> None:
    code = "import sys; sys.modules['uvloop'] = None; from hotlap.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", "--uvloop", "none.onnx"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.strip()) == (
        3,
        "hotlap: running on uvloop needs an extra: pip install 'hotlap[serve]'",
    )


def test_sigterm_counts_though_something_swallows_it_while_models_load(folder: Path) -> None:
    """As an extension module does that is just being imported."""
    code = """
import contextlib, os, signal, time
import hotlap.cli, hotlap.serve.loading as loading

def load(*arguments, load=loading.load, **more):
    with contextlib.suppress(BaseException):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
    return load(*arguments, **more)

loading.load = load
hotlap.cli.main(["serve", "mlp.onnx", "--http", "0"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (143, "", "hotlap: interrupted")


def test_a_port_that_is_taken_is_told_before_a_model_is_loaded(folder: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert failed(folder, "none.onnx", "--http", str(port)) == (
            2,
            f"hotlap: 127.0.0.1:{port} cannot be had: another program has it; "
            "--http takes another port, 0 a free one",
        )


def test_whoever_opens_the_door_without_a_token_is_told(folder: Path) -> None:
    command = [sys.executable, "-m", "hotlap", "serve", "mlp.onnx", "--http", "0", "--host", "0.0.0.0"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith("ready: mlp on http://0.0.0.0:")
        process.terminate()
        assert "whoever can reach 0.0.0.0 may use this server" in process.stderr.read()
        assert process.wait(timeout=20) == 0


@pytest.mark.parametrize(
    ("arguments", "shared"),
    [
        ((), True),
        (("--no-shared-memory",), False),
        (("--host", "0.0.0.0"), False),
        (("--host", "0.0.0.0", "--shared-memory"), True),
    ],
)
def test_memory_is_shared_where_only_this_machine_can_connect(
    folder: Path, arguments: tuple[str, ...], shared: bool
) -> None:
    with running(folder, "mlp.onnx", *arguments) as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        with Client(url) as client:
            extensions = json.loads(client.ask(get("/v2")).body)["extensions"]
    assert ("system_shared_memory" in extensions) is shared

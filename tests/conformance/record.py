"""Records what Triton answers to `asks` into recorded/triton.json.

    python -m tests.conformance.record PYTHON

`PYTHON` is the interpreter of an environment with requirements/oracle.txt. nvidia-pytriton loads the Python
library of the system, so on Debian 12 that must be one of /usr/bin/python3.11. No GPU is needed.
"""

from __future__ import annotations

import dataclasses
import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import tiny
from tests.conformance.asks import ASKS, REGION, REGION_BYTES, ask

HERE = Path(__file__).parent
RECORDED = HERE / "recorded" / "triton.json"


def main(python: str) -> None:
    region = Path("/dev/shm", REGION)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tiny.save(tiny.mlp(), folder / "mlp.onnx")
        region.write_bytes(REGION_BYTES)
        port = _free_port()
        oracle = subprocess.Popen(
            [python, str(HERE / "oracle.py"), name, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            assert oracle.stdout is not None
            if not any(line == b"ready\n" for line in oracle.stdout):
                raise SystemExit("Triton did not start: see above")
            told = {one.name: dataclasses.asdict(ask("127.0.0.1", port, one)) for one in ASKS}
        finally:
            region.unlink()
            assert oracle.stdin is not None
            oracle.stdin.close()
            oracle.wait(60)
    for answer in told.values():
        if isinstance(answer["json"], dict):
            answer["json"].pop("parameters", None)  # of a configuration: paths of this machine
    if len(told) != len(ASKS):
        raise SystemExit("two requests have the same name")
    RECORDED.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    main(sys.argv[1])

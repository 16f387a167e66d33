from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hotlap.machine import Machine
from tests.machine import sites, trees


@pytest.mark.parametrize("record", trees.ALL, ids=lambda record: record.__name__)
def test_every_recorded_machine_is_described_and_kept_as_json(
    record: Callable[[Path], Path], tmp_path: Path
) -> None:
    machine = Machine.brief(record(tmp_path))
    assert msgspec.json.decode(msgspec.json.encode(machine), type=Machine) == machine


def test_a_record_starts_no_process_and_tries_no_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a child process")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    machine = Machine.brief()
    assert (machine.onnxruntime, machine.providers, machine.findings) == (None, (), ())
    assert machine.versions["python"]


def test_here_everything_is_known() -> None:
    pytest.importorskip("onnxruntime")
    machine = Machine.here()
    assert machine.onnxruntime is not None and machine.onnxruntime.usable
    assert machine.providers[0].name == "cpu"
    assert machine.providers[0].loads
    assert machine.cpus.threads >= 1
    assert machine.cpu.model in machine.label


def test_where_nothing_is_readable_nothing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(sites.hide(tmp_path / "site")))
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    machine = Machine.here(tmp_path / "empty")
    assert machine.cpu.model == "unknown"
    assert machine.memory.total is None
    assert machine.findings == (
        "onnxruntime is not installed: pip install 'hotlap[cpu]', or 'hotlap[gpu]' for CUDA",
    )


def test_a_recorded_container_has_its_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.delenv("ORT_INTRA_OP_NUM_THREADS", raising=False)
    machine = Machine.here(trees.docker_v2(tmp_path))
    assert any("starts 32 threads where 2 may run" in finding for finding in machine.findings)


def test_the_operating_system_is_named(tmp_path: Path) -> None:
    trees.write(tmp_path, {"etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'})
    assert Machine.brief(tmp_path).os.startswith("Debian GNU/Linux 12 (bookworm), ")


def test_a_table_is_what_json_gives_back() -> None:
    table = Machine.brief().table()
    assert json.loads(json.dumps(table)) == table
    assert table["cpu"]["model"]

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hotlap.errors import ModelError
from hotlap.plan import Facts
from hotlap.runtime.probe import bare, probed
from hotlap.runtime.probe.tries import TIME_UP
from tests import tiny
from tests.runtime.probe import kinds


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOTLAP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "facts"


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """One entry for each time that a model was really probed."""
    made: list[Any] = []
    real = bare.probe

    def counting(runner: Any, **options: Any) -> Any:
        made.append(options)
        return real(runner, **options)

    monkeypatch.setattr(bare, "probe", counting)
    return made


def test_a_model_is_probed_once(tmp_path: Path, folder: Path, probes: list[Any]) -> None:
    path = tiny.save(kinds.dynamically_quantised(), tmp_path / "m.onnx")
    first = probed(path)
    assert first.rows == "dependent"
    assert probed(str(path)) == first
    # The file's content counts, not its name.
    assert probed(tiny.save(kinds.dynamically_quantised(), tmp_path / "copy.onnx")) == first
    assert (len(probes), len(list(folder.iterdir()))) == (1, 1)
    tiny.save(tiny.add(), path)
    assert probed(path).rows == "independent"
    assert len(probes) == 2


def test_what_was_not_learned_for_lack_of_time_is_asked_again(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny.save(tiny.add(), tmp_path / "m.onnx")
    busy = Facts(rows="unknown", why=f"{TIME_UP} before rows were tried")
    monkeypatch.setattr(bare, "probe", lambda runner, **options: busy)
    assert probed(path) == busy
    monkeypatch.undo()
    monkeypatch.setenv("HOTLAP_CACHE", str(folder.parent))
    assert probed(path).rows == "independent"


def test_other_external_weights_are_another_model(tmp_path: Path, probes: list[Any]) -> None:
    path = tiny.mlp_external(tmp_path)
    probed(path)
    weights = tmp_path / "model.onnx.data"
    data = bytearray(weights.read_bytes())
    data[2] ^= 1
    weights.write_bytes(data)
    probed(path)
    probed(path)
    assert len(probes) == 2


def test_what_was_allowed_is_part_of_the_question(tmp_path: Path, probes: list[Any]) -> None:
    path = tiny.save(tiny.gather_mask(), tmp_path / "m.onnx")
    probed(path)
    probed(path, limits={"ids": 100})
    probed(path, limits={"ids": 100}, seconds=4)
    probed(path, providers=["CPUExecutionProvider"])
    assert probes == [
        {"limits": None, "seconds": 8.0},
        {"limits": {"ids": 100}, "seconds": 8.0},
        {"limits": {"ids": 100}, "seconds": 4},
    ]


def test_without_a_cache_it_is_probed_each_time(tmp_path: Path, probes: list[Any]) -> None:
    (tmp_path / "cache").write_text("a file in the way")
    path = tiny.save(tiny.add(), tmp_path / "m.onnx")
    assert [probed(path).rows, probed(path).rows] == ["independent"] * 2
    assert len(probes) == 2


def test_weights_outside_of_the_folder_are_not_read(tmp_path: Path) -> None:
    for location in ("../secret.bin", "/etc/hostname", "C:\\secret.bin"):
        assert bare._external_digest(tmp_path / "m.onnx", location) == ""
    assert bare._external_digest(tmp_path / "m.onnx", "missing.bin") == ""
    assert bare._external_digest(tmp_path / "m.onnx", "zero\0byte") == ""


def test_what_is_no_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        probed(tmp_path / "m.onnx")
    with pytest.raises(ModelError, match="NoSuchOperator"):
        probed(tiny.save(tiny.unknown_operator(), tmp_path / "m.onnx"))


def test_probing_loads_nothing_cold(tmp_path: Path) -> None:
    path = tiny.save(tiny.add(), tmp_path / "m.onnx")
    script = (
        f"from hotlap.runtime.probe import probed; probed({str(path)!r}); import sys\n"
        "print({'onnx', 'onnx_ir', 'click', 'rich', 'hotlap.model', 'hotlap.bench'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")

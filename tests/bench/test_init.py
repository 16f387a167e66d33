from __future__ import annotations

import subprocess
import sys

import pytest

import hotlap.bench


def test_every_public_name_can_be_had() -> None:
    assert {name for name in hotlap.bench.__all__ if getattr(hotlap.bench, name, None) is None} == set()
    assert set(dir(hotlap.bench)) == set(hotlap.bench.__all__)


def test_compare_stays_a_function_whatever_is_loaded_after_it() -> None:
    import hotlap.bench.rounds

    assert callable(hotlap.bench.compare) and callable(hotlap.bench.measure)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        hotlap.bench.no_such_name  # noqa: B018


def test_the_measuring_process_loads_no_more_than_running_the_model_does() -> None:
    script = "import hotlap.bench.child, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    rooms = {m.split(".")[1] for m in loaded if m.startswith("hotlap.")}
    assert not rooms & {"machine", "model", "tune", "verify", "cli"}
    assert not loaded & {"onnx", "torch", "click", "rich", "hypothesis", "hotlap.bench.process"}

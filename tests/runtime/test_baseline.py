from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from hotlap.errors import InputError, ModelError
from hotlap.runtime import default_session
from tests import tiny


def test_it_is_built_with_the_path_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    real = onnxruntime.InferenceSession

    def record(*arguments: Any, **named: Any) -> Any:
        calls.append((arguments, named))
        return real(*arguments, **named)

    monkeypatch.setattr(onnxruntime, "InferenceSession", record)
    path = tiny.save(tiny.add(), tmp_path / "m.onnx")
    default_session(path)
    assert calls == [((str(path),), {})]


def test_it_runs_and_shows_its_signature(tmp_path: Path) -> None:
    session = default_session(tiny.save(tiny.add(), tmp_path / "m.onnx"))
    assert session.run({"x": np.ones((1, 4), np.float32)})["y"].tolist() == [[2, 2, 2, 2]]
    assert [s.label for s in (*session.inputs, *session.outputs)] == ["float32[N, 4]", "float32[N, 4]"]


def test_what_ort_refuses_is_translated(tmp_path: Path) -> None:
    session = default_session(tiny.save(tiny.add(), tmp_path / "m.onnx"))
    with pytest.raises(InputError, match=r"Unexpected input data type"):
        session.run({"x": np.ones((1, 4))})
    with pytest.raises(ModelError, match="no such file"):
        default_session(tmp_path / "other")
    with pytest.raises(ModelError, match="does not load it"):
        default_session(tiny.save(tiny.unknown_operator(), tmp_path / "u.onnx"))

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from hotlap.errors import ModelError, PlanError
from hotlap.plan import External, ModelRef
from hotlap.runtime.digest import DigestCheck, file_digest


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"model")
    (tmp_path / "w.bin").write_bytes(b"weights")
    return path


def reference(model: bytes = b"model", weights: bytes = b"weights", size: int = 7) -> ModelRef:
    return ModelRef(
        path="m.onnx", digest=digest(model), external={"w.bin": External(size=size, digest=digest(weights))}
    )


def test_a_digest_is_sha256_of_the_bytes(model: Path) -> None:
    assert file_digest(model) == digest(b"model")


def test_the_same_files_pass(model: Path) -> None:
    DigestCheck(reference(), model).verdict()


def test_another_model_is_refused_with_both_digests(model: Path) -> None:
    with pytest.raises(
        PlanError, match=r"made for another model: it says sha256:\w{12}…, the file has sha256"
    ) as e:
        DigestCheck(reference(model=b"other"), model).verdict()
    assert "tune again or point to the right file" in str(e.value)


def test_other_weights_are_refused(model: Path) -> None:
    with pytest.raises(PlanError, match=r"w\.bin: this plan was made for another model"):
        DigestCheck(reference(weights=b"WEIGHTS"), model).verdict()


def test_weights_of_another_size_are_refused_by_size(model: Path) -> None:
    with pytest.raises(PlanError, match="it says 8 bytes, the file has 7"):
        DigestCheck(reference(size=8), model).verdict()


def test_missing_weights_are_the_models_fault(model: Path) -> None:
    (model.parent / "w.bin").unlink(missing_ok=True)
    with pytest.raises(ModelError, match=r"w\.bin: the model's file of external weights is missing"):
        DigestCheck(reference(), model).verdict()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_weights_that_are_a_pipe_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"model")
    os.mkfifo(tmp_path / "w.bin")
    own = file_digest(tmp_path / "m.onnx")
    external = {"w.bin": External(size=0, digest=own)}
    check = DigestCheck(ModelRef(path="m.onnx", digest=own, external=external), tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=r"w\.bin: not a regular file"):
        check.verdict()

from __future__ import annotations

import pytest

from hotlap.machine.environment import environment


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("ORT_INTRA_OP_NUM_THREADS", True),
        ("CUDA_VISIBLE_DEVICES", True),
        ("LD_LIBRARY_PATH", True),
        ("ORT_TENSORRT_FP16_ENABLE", True),
        ("OMP_NUM_THREADS", False),
        ("MKL_NUM_THREADS", False),
        ("OPENBLAS_NUM_THREADS", False),
        ("ORT_NUM_THREADS", False),
        ("ORT_SOMETHING_NEW", False),
    ],
)
def test_what_matters_and_what_only_seems_to(name: str, matters: bool) -> None:
    (note,) = environment({name: "1", "HOME": "/root"})
    assert (note.name, note.value, note.matters) == (name, "1", matters)
    assert note.effect


def test_an_empty_value_is_a_value() -> None:
    (note,) = environment({"CUDA_VISIBLE_DEVICES": ""})
    assert note.value == ""


def test_it_reads_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert "7" in [note.value for note in environment() if note.name == "OMP_NUM_THREADS"]

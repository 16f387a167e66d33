from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import onnxruntime
import pytest

from hotlap.errors import ModelError, ProviderUnavailable
from hotlap.providers import Cpu, Cuda, OpenVino, Provider, TensorRt
from hotlap.runtime import chain
from hotlap.runtime.chain import place
from hotlap.runtime.loading import ProviderStatus
from tests import tiny
from tests.runtime.providers import Azure, session

CPU, CUDA, TRT = "CPUExecutionProvider", "CUDAExecutionProvider", "TensorrtExecutionProvider"
pybind = onnxruntime.capi.onnxruntime_pybind11_state


@pytest.fixture
def gpu_wheel(monkeypatch: pytest.MonkeyPatch) -> dict[str, ProviderStatus]:
    """As on a machine with onnxruntime-gpu: every provider is compiled in; the dict says which load."""
    statuses: dict[str, ProviderStatus] = {}

    def status(name: str) -> ProviderStatus:
        return statuses.get(name, ProviderStatus(name, compiled=True, loads=True))

    monkeypatch.setattr(chain, "reason_not_to_try", lambda cls: "")
    monkeypatch.setattr(chain, "provider_status", status)
    return statuses


def fails_to_load(name: str) -> ProviderStatus:
    return ProviderStatus(
        name, compiled=True, loads=False, reason="its library misses libcudnn.so.9", remedy="install cuDNN 9"
    )


def creating(**by_first: Any) -> Any:
    """A `create` that answers by the first provider's name: a session, or an exception to raise."""

    def create(providers: Sequence[type[Provider]]) -> Any:
        answer = by_first[providers[0].name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return create


def real(providers: Sequence[type[Provider]]) -> Any:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    names = [p.ort_name for p in providers]
    return onnxruntime.InferenceSession(tiny.mlp().SerializeToString(), options, providers=names)


def test_the_first_that_loads_and_takes_nodes_runs_them(gpu_wheel: Any) -> None:
    good = session([CUDA, CPU], CUDAExecutionProvider=["Conv", "Relu"], CPUExecutionProvider=["Shape"])
    placed = place(creating(cuda=good), [Cuda, Cpu], "m.onnx")
    assert placed.placement == {"cuda": 2, "cpu": 1}
    assert placed.notes == ()


def test_one_that_ort_drops_in_silence_is_named_with_its_reason(gpu_wheel: Any, caplog: Any) -> None:
    gpu_wheel["cuda"] = fails_to_load("cuda")
    placed = place(creating(cuda=session([CPU], CPUExecutionProvider=["Conv"])), [Cuda, Cpu], "m.onnx")
    note = "cuda not used: its library misses libcudnn.so.9: install cuDNN 9"
    assert placed.placement == {"cpu": 1}
    assert placed.notes == (note,)
    assert [(r.levelno, r.getMessage()) for r in caplog.records] == [(logging.WARNING, f"m.onnx: {note}")]


def test_without_cpu_in_the_chain_one_that_does_not_load_is_an_error(gpu_wheel: Any) -> None:
    gpu_wheel["cuda"] = fails_to_load("cuda")
    with pytest.raises(ProviderUnavailable, match=r"libcudnn.*to allow the CPU, ask for cuda,cpu") as caught:
        place(creating(cuda=session([CPU], CPUExecutionProvider=["Conv"])), [Cuda], "m.onnx")
    assert "\n" not in str(caught.value)


def test_one_that_refuses_the_model_gives_way_to_the_next(gpu_wheel: Any) -> None:
    refusal = pybind.EPFail("[ONNXRuntimeError] : 11 : EP_FAIL : operator If is not supported")
    good = session([CPU], CPUExecutionProvider=["If"])
    placed = place(creating(openvino=refusal, cpu=good), [OpenVino, Cpu], "m.onnx")
    assert placed.placement == {"cpu": 1}
    assert placed.notes == (
        "openvino not used: it loads, but does not take this model: operator If is not supported",
    )


def test_every_reason_of_a_chain_that_fails_is_told(gpu_wheel: Any) -> None:
    gpu_wheel["tensorrt"] = fails_to_load("tensorrt")
    refusal = RuntimeError("no kernel image is available")
    with pytest.raises(ProviderUnavailable) as caught:
        place(creating(tensorrt=refusal, cuda=refusal), [TensorRt, Cuda], "m.onnx")
    assert str(caught.value) == (
        "m.onnx: tensorrt not used: its library misses libcudnn.so.9: install cuDNN 9; "
        "cuda not used: it loads, but does not take this model: no kernel image is available; "
        "to allow the CPU, ask for tensorrt,cuda,cpu"
    )


def test_the_one_that_does_not_load_is_blamed_before_the_first(gpu_wheel: Any) -> None:
    gpu_wheel["cuda"] = fails_to_load("cuda")
    sessions = [RuntimeError("CUDA failure 35"), session([TRT, CPU], TensorrtExecutionProvider=["Conv"])]
    placed = place(lambda providers: _next(sessions), [TensorRt, Cuda, Cpu], "m.onnx")
    assert placed.placement == {"tensorrt": 1}
    assert [n.partition(" ")[0] for n in placed.notes] == ["cuda"]


def _next(answers: list[Any]) -> Any:
    answer = answers.pop(0)
    if isinstance(answer, Exception):
        raise answer
    return answer


def test_nodes_on_a_cpu_that_was_not_asked_for_are_an_error(gpu_wheel: Any) -> None:
    mixed = session(
        [CUDA, CPU], CUDAExecutionProvider=["Conv"] * 7, CPUExecutionProvider=["Shape", "Shape", "If"]
    )
    with pytest.raises(ProviderUnavailable) as caught:
        place(creating(cuda=mixed), [Cuda], "m.onnx")
    assert str(caught.value) == (
        "m.onnx: cuda does not take 3 of 10 nodes (2 Shape, If), and the CPU was not asked for; "
        "to allow the CPU, ask for cuda,cpu"
    )


def test_many_kinds_of_nodes_are_cut_short(gpu_wheel: Any) -> None:
    mixed = session([CUDA, CPU], CPUExecutionProvider=["A", "B", "C", "D", "E", "F"])
    with pytest.raises(ProviderUnavailable, match=r"6 of 6 nodes \(A, B, C, D, E, …\)"):
        place(creating(cuda=mixed), [Cuda], "m.onnx")


@pytest.mark.thread_unsafe(reason="the captured log is one for all threads")
def test_one_that_loads_but_takes_nothing_is_told_too(caplog: Any) -> None:
    placed = place(real, [Azure, Cpu], "m.onnx")
    assert placed.placement == {"cpu": 3}
    assert placed.notes == ("azure not used: it loads, but takes none of the model's 3 nodes",)
    assert caplog.records[0].levelno == logging.WARNING


def test_one_that_loads_but_takes_nothing_is_an_error_alone() -> None:
    with pytest.raises(ProviderUnavailable, match="azure does not take 3 of 3 nodes"):
        place(real, [Azure], "m.onnx")


def test_the_cpu_alone_leaves_no_note(caplog: Any) -> None:
    placed = place(real, [Cpu], "m.onnx")
    assert (placed.placement, placed.notes, caplog.records) == ({"cpu": 3}, (), [])


def test_a_broken_model_is_blamed_on_no_provider(gpu_wheel: Any) -> None:
    broken = pybind.InvalidGraph(
        "[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. No Op Nope"
    )
    with pytest.raises(ModelError, match="This is an invalid model"):
        place(creating(cuda=broken), [Cuda, Cpu], "m.onnx")


def test_missing_weights_are_blamed_on_no_provider(gpu_wheel: Any) -> None:
    missing = pybind.Fail("[ONNXRuntimeError] : 1 : FAIL : External data path does not exist: w.bin")
    with pytest.raises(ModelError, match=r"w\.bin"):
        place(creating(cuda=missing), [Cuda], "m.onnx")


def test_what_the_cpu_refuses_is_the_models_fault(gpu_wheel: Any) -> None:
    refusal = pybind.NotImplemented("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find Identity(21)")
    with pytest.raises(ModelError, match="Could not find Identity"):
        place(creating(cuda=refusal, cpu=refusal), [Cuda, Cpu], "m.onnx")


def test_a_model_without_nodes_is_on_the_first(gpu_wheel: Any) -> None:
    assert place(creating(cpu=session([CPU])), [Cpu], "m.onnx").placement == {"cpu": 0}


def test_a_model_without_nodes_leaves_no_note_about_takers(gpu_wheel: Any) -> None:
    assert place(creating(cuda=session([CUDA, CPU])), [Cuda, Cpu], "m.onnx").notes == ()

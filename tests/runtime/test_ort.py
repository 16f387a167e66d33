from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest

from hotlap.errors import InputError, MissingExtra, ModelError, ProviderUnavailable, Unavailable
from hotlap.runtime import ort
from tests import tiny


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`ort.load` unloaded, with an import that the test scripts."""
    ort.load.cache_clear()

    def script(answer: Any) -> None:
        def import_module(name: str) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(importlib, "import_module", import_module)

    yield script
    ort.load.cache_clear()


def test_the_installed_one_is_loaded() -> None:
    assert ort.load() is onnxruntime


def test_absent_it_is_a_missing_extra_with_the_pip_line(fresh: Any) -> None:
    fresh(ModuleNotFoundError("No module named 'onnxruntime'", name="onnxruntime"))
    with pytest.raises(MissingExtra, match=r"pip install 'hotlap\[cpu\]'"):
        ort.load()


@pytest.mark.parametrize(
    "error",
    [
        ImportError("numpy.core.multiarray failed to import"),
        AttributeError("_ARRAY_API not found"),
        ModuleNotFoundError("No module named 'flatbuffers'", name="flatbuffers"),
        RuntimeError("module compiled against ABI version 0x1000009"),
    ],
)
def test_one_that_does_not_import_says_so_with_numpys_version(fresh: Any, error: Exception) -> None:
    fresh(error)
    with pytest.raises(
        Unavailable, match=rf"does not import beside numpy {np.__version__}.*--force-reinstall"
    ) as e:
        ort.load()
    assert "\n" not in str(e.value)
    assert e.value.__cause__ is error


def test_a_half_removed_one_is_told_from_an_absent_one(fresh: Any) -> None:
    fresh(SimpleNamespace())
    with pytest.raises(Unavailable, match="half installed"):
        ort.load()


@pytest.mark.parametrize(
    ("version", "fine"),
    [("1.24.4", True), ("1.32.0", True), ("2.0", True), ("1.26.0.dev20260101+cu13", True), ("1.24.3", False)],
)
def test_older_than_the_oldest_is_refused(fresh: Any, version: str, fine: bool) -> None:
    fresh(SimpleNamespace(InferenceSession=object, __version__=version))
    if fine:
        assert ort.load().__version__ == version
    else:
        with pytest.raises(Unavailable, match=r"1\.24\.3 is too old, hotlap needs 1\.24\.4 or newer"):
            ort.load()


FAIL = "[ONNXRuntimeError] : 1 : FAIL : "
RUNNING = "Non-zero status code returned while running"
SOURCE = "/onnxruntime_src/onnxruntime/core"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            f"{FAIL}{RUNNING} Mul node. Name:'m1' Status Message: {SOURCE}/providers/cpu/math/"
            "element_wise_ops.h:583 void onnxruntime::BroadcastIterator::Append(ptrdiff_t, ptrdiff_t) "
            "axis == 1 || axis == largest was false. Attempting to broadcast an axis. 3 by 4\n",
            'node Mul "m1": Attempting to broadcast an axis. 3 by 4',
        ),
        (
            f"[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : {RUNNING} Gather node. Name:'' Status Message: "
            "indices element out of data bounds, idx=5000",
            "node Gather: indices element out of data bounds, idx=5000",
        ),
        (
            f"{FAIL}Exception during initialization: {SOURCE}/optimizer/initializer.cc:51 onnxruntime::"
            "Initializer::Initializer(const onnx::TensorProto&, const std::filesystem::__cxx11::path&) "
            f"{FAIL}tensorprotoutils.cc:2201 GetExtDataFromTensorProto External data: w can not be read.",
            "External data: w can not be read.",
        ),
        (
            f"{FAIL}Load model from /tmp/a b.onnx failed:This is an invalid model. Error No Op registered",
            "This is an invalid model. Error No Op registered",
        ),
        ("plain words", "plain words"),
    ],
)
def test_messages_are_one_line_without_source_paths(said: str, line: str) -> None:
    assert ort.clear_line(said) == line


def test_an_endless_message_is_cut() -> None:
    assert len(ort.clear_line("x" * 5000)) == 400


def raised_by(model: bytes) -> Exception:
    with pytest.raises(Exception) as caught:
        onnxruntime.InferenceSession(model)
    return caught.value


def test_what_a_session_refuses_is_a_model_error() -> None:
    error = ort.load_error(raised_by(tiny.unknown_operator().SerializeToString()), "m.onnx")
    assert isinstance(error, ModelError)
    assert str(error).startswith("m.onnx: ONNX Runtime does not load it: This is an invalid model.")


def test_broken_protobuf_says_what_that_means() -> None:
    error = ort.load_error(raised_by(b"hello world"), "m.onnx")
    assert isinstance(error, ModelError)
    assert "not an ONNX file, or a truncated one" in str(error)


def test_a_provider_that_fails_is_no_fault_of_the_model_or_the_feed() -> None:
    error = onnxruntime.capi.onnxruntime_pybind11_state.EPFail("[ONNXRuntimeError] : 11 : EP_FAIL : gone")
    assert isinstance(ort.load_error(error, "m.onnx"), ProviderUnavailable)
    assert isinstance(ort.run_error(error), ProviderUnavailable)
    assert isinstance(ort.run_error(ValueError("x")), InputError)


def test_too_little_memory_is_said() -> None:
    assert "more memory" in str(ort.load_error(MemoryError("std::bad_alloc"), "m.onnx"))
    for error in (
        MemoryError(),
        RuntimeError("std::bad_alloc"),
        RuntimeError("Failed to allocate memory for"),
    ):
        assert isinstance(ort.run_error(error), ModelError), "not a wrong feed"


def test_translated_keeps_the_cause_and_leaves_our_own_errors_alone() -> None:
    cause = ValueError("what")
    with pytest.raises(ModelError, match=r"m\.onnx") as caught, ort.translated("m.onnx"):
        raise cause
    assert caught.value.__cause__ is cause
    own = InputError("ours")
    with pytest.raises(InputError) as kept, ort.translated("m.onnx"):
        raise own
    assert kept.value is own


class Theirs(ValueError):
    """Made by whoever calls: a signal handler raises it, or a callback."""


@pytest.mark.parametrize(
    ("error", "own"),
    [
        *((kind("what"), True) for kind in (RuntimeError, ValueError, TypeError, MemoryError)),
        (onnxruntime.capi.onnxruntime_pybind11_state.Fail("what"), True),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "text that is none"), True),
        *((type("Theirs", (kind,), {})("what"), False) for kind in (RuntimeError, TypeError, MemoryError)),
        (Theirs("what"), False),
    ],
)
def test_a_class_of_somebody_elses_is_not_what_the_runtime_raised(error: Exception, own: bool) -> None:
    with pytest.raises(ModelError if own else type(error)) as caught, ort.translated("m.onnx"):
        raise error
    assert (caught.value.__cause__ if own else caught.value) is error


class Handler:
    """Handlers of every form."""

    def __call__(self, *_: Any) -> None:
        raise RuntimeError("timed out")

    def method(self, *_: Any) -> None:
        self()


def function(*_: Any) -> None:
    raise RuntimeError("timed out")


@pytest.mark.thread_unsafe(reason="signals come to the main thread alone")
@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs POSIX signals")
@pytest.mark.parametrize("handler", [function, Handler(), Handler().method])
def test_what_a_signal_handler_raises_is_its_own(handler: Any) -> None:
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(RuntimeError, match="timed out"), ort.translated("m.onnx"):
            signal.raise_signal(signal.SIGUSR1)
        with pytest.raises(ModelError, match="of the runtime"), ort.translated("m.onnx"):
            raise RuntimeError("of the runtime")
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_array_that_numpy_cannot_make_is_the_runtimes() -> None:
    with pytest.raises(ModelError, match="more memory"), ort.translated("m.onnx"):
        np.empty(1 << 60, np.uint8)


def test_a_machine_without_onnxruntime_imports_hotlap_and_gets_one_line(tmp_path: Path) -> None:
    model = tiny.save(tiny.add(), tmp_path / "m.onnx")
    script = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "import hotlap, hotlap.runtime\n"
        "try: hotlap.open(sys.argv[1])\n"
        "except hotlap.HotlapError as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(model)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "MissingExtra running a model needs an extra: pip install 'hotlap[cpu]'\n"


def test_a_message_with_a_name_of_a_megabyte_is_made_clear_at_once() -> None:
    assert len(ort.clear_line("Fatal error: " + "q" * 1_000_000 + " is not a registered op")) == 400

"""Writing the graph that ONNX Runtime really runs, for people to look at: `write_executed`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hotlap.bench.process import ask
from hotlap.errors import ModelError, UsageError
from hotlap.inspect.evidence import APART, CHILD
from hotlap.inspect.runtimes import judged_runtime
from hotlap.inspect.stages import EXECUTED, WEIGHTS, Request, read_answer
from hotlap.model import Model
from hotlap.model.graph import load_graph, tensors
from hotlap.plan.files import check_writable, storage_error, write_whole

__all__ = ["STAMP", "write_executed"]

STAMP = "hotlap.executed."
"""What the keys of the file's metadata begin with."""


def write_executed(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    providers: Sequence[str] = ("cpu",),
    timeout: float = 300.0,
) -> Path:
    """Writes the model as ONNX Runtime optimises it at its highest level here. It is valid ONNX.

    It is bound to this host: its metadata says to which version of ONNX Runtime and which instruction sets,
    and of which file it was made (keys that begin with `STAMP`). Weights of large models go to
    ``<out>.data``.

    Args:
        path: the model.
        out: the file to write; replaced where it is there.
        providers: short names, first choice first; the CPU takes what they do not.
        timeout: seconds after which the process that loads the model counts as hung.

    Returns:
        The file.

    Raises:
        UsageError: `out` is the model itself, or one of its files of weights.
        ModelError: the model is missing, broken or refused, or a provider's part of it cannot be written.
        TargetFailed: ONNX Runtime crashed or hung.
        StorageError: no room, or no permission; nothing half-written is left.
    """
    model, target = Model.load(path), Path(out)
    check_writable(target)
    beside = target.with_name(f"{target.name}.data")
    for file in model.files():
        if any(one.exists() and one.samefile(file) for one in (target, beside)):
            raise UsageError(f"{target}: would overwrite the model itself ({file}); name another file")
    try:
        with tempfile.TemporaryDirectory(prefix=".hotlap-", dir=target.absolute().parent) as scratch:
            _execute(model, Path(scratch), providers, timeout)
            _lay(Path(scratch), model, providers, target, beside)
    except OSError as error:
        raise storage_error(target, error) from error
    return target


def _execute(model: Model, folder: Path, providers: Sequence[str], timeout: float) -> None:
    request = Request(
        model=str(model.path.absolute()),
        providers=list(providers),
        stages=["executed"],
        folder=str(folder.absolute()),
        apart=model.size > APART,
        outcome=str(folder.absolute() / "outcome"),
    )
    ask(CHILD, request, folder, str(model.path), timeout)
    answer = read_answer(folder, "executed")
    if answer is None or answer.error:
        said = "" if answer is None else answer.error.removeprefix(f"{request.model}: ")
        raise ModelError(f"{model.path}: the graph that is executed cannot be written: {said}")


def _lay(folder: Path, model: Model, providers: Sequence[str], target: Path, beside: Path) -> None:
    proto = load_graph(folder / EXECUTED)
    for tensor in tensors(proto):
        for entry in tensor.external_data:
            if entry.key == "location" and entry.value == WEIGHTS:
                entry.value = beside.name
    for key, value in _stamp(model, providers).items():
        proto.metadata_props.add(key=f"{STAMP}{key}", value=value)
    if (folder / WEIGHTS).exists():
        (folder / WEIGHTS).replace(beside)
    write_whole(target, proto.SerializeToString())


def _stamp(model: Model, providers: Sequence[str]) -> dict[str, Any]:
    runtime = judged_runtime(providers=providers)
    return {
        "note": "bound to one host: run the source instead",
        "onnxruntime": runtime.ort,
        "level": "ORT_ENABLE_ALL",
        "features": " ".join(sorted(runtime.features or ())),
        "providers": " ".join(runtime.providers),
        "source": model.digest,
    }

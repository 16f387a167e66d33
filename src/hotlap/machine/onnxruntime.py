"""The installed onnxruntime: which wheels hold it, whether it imports, and if not, why."""

from __future__ import annotations

import re

import msgspec

from hotlap.machine.child import Answer, ask
from hotlap.machine.versions import numbers, ort_wheels, versions
from hotlap.runtime.ort import MINIMUM

__all__ = ["OnnxRuntime", "onnxruntime_here"]

_FIRST_FOR_NUMPY_2 = (1, 19)  # release notes of ONNX Runtime 1.19.0
_NUMPY_ABI = re.compile(
    r"_ARRAY_API not found|compiled using NumPy|numpy\.core\.multiarray failed|numpy\.dtype size"
)


class OnnxRuntime(msgspec.Struct, frozen=True, kw_only=True):
    """What became of ``import onnxruntime`` in a process of its own.

    Attributes:
        installed: a module of that name was found.
        imports: it imports and has sessions.
        version: "" where it does not import.
        file: where the module lies.
        cuda: the CUDA version that it was built with; "" for builds without.
        compiled: ORT's names of the providers that are compiled in.
        wheels: installed distributions that hold the module → "version at folder".
        error: why it does not import, one line; "" where it does.
        remedy: what to do about that.
    """

    installed: bool
    imports: bool
    version: str = ""
    file: str = ""
    cuda: str = ""
    compiled: tuple[str, ...] = ()
    wheels: dict[str, str] = {}
    error: str = ""
    remedy: str = ""

    @property
    def usable(self) -> bool:
        """It imports and is new enough for hotlap."""
        return self.imports and numbers(self.version) >= MINIMUM


def onnxruntime_here() -> OnnxRuntime:
    """Imports onnxruntime in a child process and says how it went. Never raises."""
    wheels = ort_wheels()
    answer = ask("import")
    values = answer.values
    if "version" in values:
        return OnnxRuntime(
            installed=True,
            imports=True,
            version=values["version"],
            file=values["file"],
            cuda=values["cuda"],
            compiled=tuple(values["providers"]),
            wheels=wheels,
        )
    if values.get("kind") == "ModuleNotFoundError" and values.get("missing") == "onnxruntime":
        return OnnxRuntime(
            installed=False,
            imports=False,
            error="onnxruntime is not installed",
            remedy="pip install 'hotlap[cpu]', or 'hotlap[gpu]' for CUDA",
        )
    error, remedy = _explain(answer, wheels)
    return OnnxRuntime(installed=True, imports=False, wheels=wheels, error=error, remedy=remedy)


def _explain(answer: Answer, wheels: dict[str, str]) -> tuple[str, str]:
    """(why it does not import, what to do), from what was raised and what was written to stderr."""
    values, here = answer.values, versions()
    wheel = next(iter(wheels), "onnxruntime")
    version = here.get(wheel, "")
    numpy = here.get("numpy", "")
    raised = str(values.get("error") or answer.failure or values.get("kind", ""))
    too_old = bool(version) and numbers(version) < _FIRST_FOR_NUMPY_2 and numbers(numpy) >= (2,)
    if too_old or _NUMPY_ABI.search(f"{raised}\n{answer.said}"):
        return (
            f"{wheel} {version} does not import: it was built for another numpy than {numpy}".replace(
                "  ", " "
            ),
            f"pip install --upgrade {wheel} numpy",
        )
    if values.get("kind") == "ModuleNotFoundError" and values.get("missing"):
        missing = str(values["missing"])
        if not missing.startswith("onnxruntime"):
            return f"{wheel} needs the module {missing}, which is missing", f"pip install {missing}"
    if (
        values.get("kind") == "AttributeError"
        or "cannot import name" in raised
        or "No module named" in raised
    ):
        # What is left when onnxruntime and onnxruntime-gpu were both installed and one was removed again.
        return (
            f"{wheel} is only half there ({_short(raised)})",
            f"pip uninstall -y {' '.join(wheels) or 'onnxruntime'}; pip install {wheel}",
        )
    return f"{wheel} does not import: {_short(raised)}", f"pip install --force-reinstall {wheel} numpy"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"

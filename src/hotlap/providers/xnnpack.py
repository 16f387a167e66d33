"""XNNPACK: float kernels for ARM and WebAssembly, with a thread pool of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from hotlap.providers.provider import Positive, Provider, option

__all__ = ["Xnnpack"]


class Xnnpack(Provider, frozen=True):
    """It runs one call at a time. Its threads come beside the session's: spin = "off" keeps those quiet."""

    name: ClassVar[str] = "xnnpack"
    ort_name: ClassVar[str] = "XnnpackExecutionProvider"
    install: ClassVar[str] = "build ONNX Runtime with --use_xnnpack: no wheel on PyPI has it"

    intra_op_num_threads: Annotated[
        Positive | None, option("Threads of XNNPACK's own pool.", default="the plan's threads")
    ] = None

    def options(self, threads: int, spin: str, folder: Path | None = None) -> dict[str, str]:
        """See `Provider.options`."""
        return {"intra_op_num_threads": str(threads)} | self.written(folder) | self.extra

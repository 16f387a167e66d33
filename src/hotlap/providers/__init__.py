"""Execution providers: one frozen value each, every option typed and documented. Values only."""

from __future__ import annotations

from hotlap.errors import PlanError
from hotlap.providers.coreml import CoreMl
from hotlap.providers.cpu import Cpu
from hotlap.providers.cuda import Cuda
from hotlap.providers.directml import DirectMl
from hotlap.providers.migraphx import MiGraphX
from hotlap.providers.nv_tensorrt_rtx import NvTensorRtRtx
from hotlap.providers.openvino import OpenVino
from hotlap.providers.provider import FLOOR, Provider
from hotlap.providers.qnn import Qnn
from hotlap.providers.tensorrt import TensorRt
from hotlap.providers.webgpu import WebGpu
from hotlap.providers.xnnpack import Xnnpack
from hotlap.tensors import nearest

__all__ = [
    "FLOOR",
    "PROVIDERS",
    "CoreMl",
    "Cpu",
    "Cuda",
    "DirectMl",
    "MiGraphX",
    "NvTensorRtRtx",
    "OpenVino",
    "Provider",
    "Qnn",
    "TensorRt",
    "WebGpu",
    "Xnnpack",
    "provider_named",
]

_ALL: tuple[type[Provider], ...] = (
    Cpu,
    Cuda,
    TensorRt,
    NvTensorRtRtx,
    OpenVino,
    CoreMl,
    DirectMl,
    MiGraphX,
    Qnn,
    Xnnpack,
    WebGpu,
)
PROVIDERS: dict[str, type[Provider]] = {p.name: p for p in _ALL}
_BY_ANY_NAME = PROVIDERS | {p.ort_name: p for p in _ALL}


def provider_named(name: str) -> type[Provider]:
    """The provider of that name: hotlap's ("cuda") or ORT's ("CUDAExecutionProvider").

    Raises:
        PlanError: no such provider; names the nearest and all known.
    """
    found = _BY_ANY_NAME.get(name)
    if found is None:
        shown = name if name.isprintable() else ascii(name)[1:-1]
        raise PlanError(
            f'unknown provider "{shown}"{nearest(name, _BY_ANY_NAME)}; known: {", ".join(PROVIDERS)}'
        )
    return found

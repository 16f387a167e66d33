"""DirectML: any DirectX 12 GPU under Windows. Its makers have moved on to Windows ML."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from hotlap.providers.provider import NonNegative, Provider, option

__all__ = ["DirectMl"]


class DirectMl(Provider, frozen=True):
    """Names and values are those of ONNX Runtime's `dml_provider_factory.cc`, which ignores all others."""

    name: ClassVar[str] = "directml"
    ort_name: ClassVar[str] = "DmlExecutionProvider"
    install: ClassVar[str] = "pip install onnxruntime-directml (Windows)"
    booleans: ClassVar[tuple[str, str]] = ("false", "true")

    device_id: Annotated[
        NonNegative | None,
        option("Which adapter, counted from 0; the three below are then ignored.", default="0"),
    ] = None
    performance_preference: Annotated[
        Literal["default", "high_performance", "minimum_power"] | None,
        option("Which adapter to prefer when device_id is not given.", default="default"),
    ] = None
    device_filter: Annotated[
        Literal["gpu", "npu", "any"] | None, option("Which kind of adapter may be chosen.", default="gpu")
    ] = None
    disable_metacommands: Annotated[
        bool | None,
        option(
            "Do without the vendor's own kernels: slower, but steady across drivers.",
            default="false",
            numbers=True,
        ),
    ] = None

"""The ONNX file as a value: `Model`."""

from __future__ import annotations

from hotlap.model.model import Model

__all__ = ["Model"]

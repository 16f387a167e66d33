"""Passes: a better ONNX file that is proved to be the same model."""

from __future__ import annotations

"""HTTP/1.1 for the Open Inference Protocol."""

from __future__ import annotations

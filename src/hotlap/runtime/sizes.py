"""Where copying a tensor stops being cheaper than binding it.

Measured on two cores with 48 KB of first-level cache (Zen 5), onnxruntime 1.32, numpy 2.4, one float tensor,
best of interleaved rounds, µs; docs/decisions/0020-one-binding-per-signature.md has the table. The shared
cache of other machines is smaller, so the lower end of each crossing is taken.
"""

from __future__ import annotations

__all__ = ["SMALL_INPUT", "SMALL_OUTPUT"]

SMALL_INPUT = 64 * 1024
"""Bytes. Up to here an input is copied into a bound buffer: 0.6 µs at this size, against 1.1 to bind the
array itself and to let go of it again."""
SMALL_OUTPUT = 64 * 1024
"""Bytes. Up to here an output is computed into a bound buffer and copied out: 0.8 µs at this size, against
2.1 for memory that ORT allocates afresh. From 256 KB on the copy is the dearer one, and the caches pay too."""

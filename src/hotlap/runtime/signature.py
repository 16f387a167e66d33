"""From a signature to its binding: what is copied, what is bound as it comes, what is made anew.

The sizes below were measured on two cores with 48 KB of first-level cache (Zen 5), onnxruntime 1.32, numpy
2.4, one float tensor, best of interleaved rounds, µs; docs/decisions/0013-small-is-copied-large-is-passed.md
has the table. Other machines have smaller caches, so the lower end of each crossing is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hotlap.runtime import ort
from hotlap.runtime.check import Call, Input, Output, call_for, direct_call_for
from hotlap.tensors import TensorSpec

if TYPE_CHECKING:
    from hotlap.runtime.live import Live

__all__ = ["SMALL_INPUT", "SMALL_OUTPUT", "bind"]

SMALL_INPUT = 64 * 1024
"""Bytes. Up to here an input is copied into a bound buffer: 0.6 µs at this size, against 1.1 to bind the
array itself and to let go of it again."""
SMALL_OUTPUT = 64 * 1024
"""Bytes. Up to here an output is computed into a bound buffer and copied out: 0.8 µs at this size, against
2.1 for memory that ORT allocates afresh. From 256 KB on the copy is dearer, and it fills the caches."""

_GAIN = {"copy": 0.6, "own": 0.7, "wrap": -0.4}
_GAIN_OUT = {"copy": 0.1, "alloc": -1.5, "echo": 0.0}
"""What a binding saves for a tensor of each kind against ORT's plain `run`: µs, measured as `sizes` says."""


def bind(
    live: Live,
    key: tuple[Any, ...],
    shapes: Mapping[str, tuple[int, ...]],
    own: Mapping[int, Any],
    lend: bool = False,
) -> Call:
    """The function that runs one signature.

    Args:
        key: each input's shape; or the id and the shape of an array of `own` that is the input.
        shapes: each output's shape.
        lend: outputs are views of memory that the next call writes into.
    """
    wrap = ort.load().OrtValue.ortvalue_from_numpy_with_onnx_type
    inputs = [_input(spec, part, own) for spec, part in zip(live.wiring.inputs, key, strict=True)]
    outputs: list[Output] = []
    index = 0
    for spec in live.wiring.outputs:
        if spec.name in live.wiring.echoes:
            outputs.append(Output(spec.name, "echo"))
            continue
        outputs.append(_output(spec, shapes[spec.name], spec.name in live.changing, lend, index))
        index += 1
    if (
        not lend
        and not live.wiring.echoes
        and sum(_GAIN[i.kind] for i in inputs) + sum(_GAIN_OUT[o.kind] for o in outputs) < 0
    ):
        return direct_call_for(live.session.run, live.options, inputs, live.names)
    binding = live.session.io_binding()
    for i in inputs:
        if i.kind != "wrap":
            binding.bind_ortvalue_input(i.name, wrap(i.held, i.onnx))
    for o in outputs:
        if o.kind in ("copy", "view"):
            binding.bind_ortvalue_output(o.name, wrap(o.held, o.onnx))
        elif o.kind != "echo":
            binding.bind_output(o.name)
    return call_for(binding, live.session.run_with_iobinding, live.options, wrap, inputs, outputs)


def _input(spec: TensorSpec, part: Any, own: Mapping[int, Any]) -> Input:
    kind = spec.dtype
    assert kind is not None and kind.numpy is not None
    if len(part) == 2 and isinstance(part[1], tuple):
        return Input(spec.name, "own", kind.numpy, part[1], own[part[0]], kind.onnx)
    if math.prod(part) * kind.numpy.itemsize <= SMALL_INPUT:
        return Input(spec.name, "copy", kind.numpy, part, np.empty(part, kind.numpy), kind.onnx)
    return Input(spec.name, "wrap", kind.numpy, part, _no_size(spec), kind.onnx)


def _output(spec: TensorSpec, shape: tuple[int, ...], changing: bool, lend: bool, index: int) -> Output:
    kind = spec.dtype
    assert kind is not None and kind.numpy is not None
    if changing or (not lend and math.prod(shape) * kind.numpy.itemsize > SMALL_OUTPUT):
        return Output(spec.name, "alloc", place=index)
    return Output(spec.name, "view" if lend else "copy", np.empty(shape, kind.numpy), kind.onnx)


def _no_size(spec: TensorSpec) -> Any:
    """A value to bind while no array is: it keeps none alive."""
    assert spec.dtype is not None
    empty = np.empty(0, spec.dtype.numpy)
    return ort.load().OrtValue.ortvalue_from_numpy_with_onnx_type(empty, spec.dtype.onnx)

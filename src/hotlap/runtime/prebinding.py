"""Bindings that outlive a call: of a step, whose buffers stay, and of a stream, whose state moves on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hotlap.runtime import ort
from hotlap.runtime.buffers import follow, sizes_in
from hotlap.runtime.live import Live, as_answer
from hotlap.runtime.packed import ForeignTensor, value_of
from hotlap.runtime.step import Step, prebound

__all__ = ["bind_step", "bind_stream", "read_state"]


def bind_step(live: Live, inputs: dict[str, Any], first: Mapping[str, Any]) -> Step:
    """A step that reads `inputs`.

    Args:
        inputs: arrays that are the step's from now on.
        first: the model's answer to them: it shows the outputs' shapes.
    """
    binding, wrap = live.session.io_binding(), ort.load().OrtValue.ortvalue_from_numpy_with_onnx_type
    sizes = sizes_in(live.wiring.inputs, {n: a.shape for n, a in inputs.items()})
    outputs: dict[str, Any] = {}
    loose: list[tuple[str, int]] = []  # outputs that ORT allocates, and their place among the bound ones
    held = []
    for spec in live.wiring.inputs:
        assert spec.dtype is not None
        held.append(wrap(inputs[spec.name], spec.dtype.onnx))
        binding.bind_ortvalue_input(spec.name, held[-1])
    asked = [s for s in live.wiring.outputs if s.name not in live.wiring.echoes]
    for index, spec in enumerate(asked):
        assert spec.dtype is not None
        shape = first[spec.name].shape
        if follow(spec, sizes) == shape and spec.name not in live.changing:
            outputs[spec.name] = np.empty(shape, spec.dtype.numpy)
            held.append(wrap(outputs[spec.name], spec.dtype.onnx))
            binding.bind_ortvalue_output(spec.name, held[-1])
        else:
            loose.append((spec.name, index))
            binding.bind_output(spec.name)
    outputs |= {n: inputs[n].copy("C") for n in live.wiring.echoes}
    outputs = {s.name: outputs.get(s.name) for s in live.wiring.outputs}

    def collect() -> None:
        values = binding.get_outputs_as_ortvaluevector()
        for name, index in loose:
            outputs[name] = values[index].numpy()
        for name, _ in loose:
            binding.bind_output(name)  # or the next run would write into what was just read
        for name in live.wiring.echoes:
            outputs[name][...] = inputs[name]

    needed = collect if loose or live.wiring.echoes else None
    step = prebound(
        live.session.run_with_iobinding, binding, live.options, inputs, outputs, needed, ort.run_error
    )
    step.held = held  # type: ignore[attr-defined]  # older versions of ORT keep no reference to bound values
    return step


def bind_stream(live: Live, state: Mapping[str, str]) -> Callable[..., Any]:
    """A function that runs one call of a stream: arrays, state and run options to answers and next state.

    The state is ORT's own value: it is bound as the next call's input where it lies, whatever its shape.
    """
    specs = {s.name: s for s in live.wiring.inputs}
    asked = [s for s in live.wiring.outputs if s.name not in live.wiring.echoes]
    ours = ort.load().OrtValue  # others are initial: arrays, and what another library lent

    def once(
        arrays: dict[str, Any], values: dict[str, Any], options: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        given = {n: value_of(specs[n], a) for n, a in arrays.items()}
        given |= {n: v if isinstance(v, ours) else value_of(specs[n], v) for n, v in values.items()}
        # A new one each time keeps nothing alive. Cleared and used again, one crashes ORT 1.24.
        binding = live.session.io_binding()
        for name, value in given.items():
            binding.bind_ortvalue_input(name, value)
        for spec in asked:
            binding.bind_output(spec.name)
        live.session.run_with_iobinding(binding, options)
        results = dict(zip((s.name for s in asked), binding.get_outputs(), strict=True))
        results |= live.echoes_of(given)
        moved = {source: results[name] for source, name in state.items()}
        kept = set(state.values())
        answers = {s.name: as_answer(s, results[s.name]) for s in live.wiring.outputs if s.name not in kept}
        return answers, moved

    return once


def read_state(value: Any) -> Any:
    """A copy of one tensor of a stream's state, as an array; of a type that numpy lacks, ORT's value."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, ForeignTensor):
        return value.value
    try:
        return value.numpy().copy()
    except ort.raised():
        return value

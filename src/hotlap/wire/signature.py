"""What a model takes and gives, prepared once for reading requests and writing answers: `Signature`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from hotlap.errors import InputError, ModelError
from hotlap.tensors import TensorSpec, nearest, shape_problems
from hotlap.wire.port import Port, element_spec
from hotlap.wire.problems import Problems, Wrong, shown
from hotlap.wire.values import Wanted

__all__ = ["Signature", "listed"]

Array = npt.NDArray[Any]

_MOST_SHAPES = 1024
"""Combinations of shapes that are remembered to fit together."""
_MOST_LETTERS = 80
"""Of a wrong name, compared with the right ones: the comparison is slow for long ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """A model's inputs and outputs, ready for the wire.

    Attributes:
        inputs, outputs: by name, in the model's order; outputs that the protocol cannot carry are missing.
        left_out: output to why it is missing, e.g. a sequence of maps.
        labels: output to the names of its classes.
        tied: a symbol stands in two inputs, whose sizes must be compared.
        all: every output, as JSON and as bytes: what a request that names none gets.
    """

    inputs: Mapping[str, Port]
    outputs: Mapping[str, Port]
    left_out: Mapping[str, str]
    labels: Mapping[str, Sequence[str]]
    all: Mapping[bool, tuple[Wanted, ...]]
    tied: bool
    _fitting: set[tuple[Any, ...]] = field(default_factory=set)
    _wanted: dict[tuple[str, bool], Wanted] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        *,
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> Signature:
        """
        Args:
            labels: output to the names of its classes, for the classification extension.

        Raises:
            ModelError: an input is of a kind that the protocol cannot carry, or every output is.
            Unavailable: a tensor is of a type for which ml_dtypes must be installed, and is not.
        """
        ports: dict[str, Port] = {}
        for spec in inputs:
            element, optional = element_spec(spec)
            if _carried(element):
                ports[spec.name] = Port(element, optional)
            elif not optional:
                raise ModelError(
                    f'input "{spec.name}" is {spec.label}, which the Open Inference Protocol cannot carry: '
                    "give the model another input there"
                )
        answers = {s.name: Port(s) for s in outputs if _carried(s)}
        left_out = {
            s.name: f"{s.label}, which the protocol cannot carry" for s in outputs if s.name not in answers
        }
        if not answers:
            raise ModelError(
                "the Open Inference Protocol can carry none of the model's outputs: " + listed(left_out)
            )
        plain = {binary: tuple(Wanted(n, binary) for n in answers) for binary in (False, True)}
        return cls(
            inputs=ports,
            outputs=answers,
            left_out=left_out,
            labels=dict(labels or {}),
            all=plain,
            tied=_tied([p.spec for p in ports.values()]),
            _wanted={(w.name, w.binary): w for wanted in plain.values() for w in wanted},
        )

    @property
    def batchable(self) -> bool:
        """Every tensor's first axis takes any size, as far as the model says: what rows may be stacked on."""
        specs = [p.spec for p in (*self.inputs.values(), *self.outputs.values())]
        return all(s.shape and not isinstance(s.shape[0], int) for s in specs)

    def fit_together(self, shapes: Mapping[str, tuple[int, ...]], problems: Problems) -> None:
        """Adds what is wrong between the inputs: axes of one symbol that differ in size."""
        if not self.tied:
            return
        key = tuple(shapes.items())
        if key in self._fitting:
            return
        sizes: dict[str, tuple[int, str]] = {}
        found = [
            f'input "{name}": {problem}'
            for name, shape in shapes.items()
            for problem in shape_problems(self.inputs[name].spec, shape, sizes)
        ]
        for line in found:
            problems.add(line)
        if not found and len(self._fitting) < _MOST_SHAPES:
            self._fitting.add(key)

    def wanted(self, name: str, binary: bool) -> Wanted | None:
        """The plain wish for that output; None where there is no such output."""
        return self._wanted.get((name, binary))

    def unknown_output(self, name: str) -> str:
        """What is wrong with a wish for that name."""
        if name in self.left_out:
            return self.left_out[name]
        hint = nearest(name[:_MOST_LETTERS], self.outputs)
        return f"the model has no output of that name{hint}; it gives {listed(self.outputs)}"

    def unknown_input(self, name: str) -> str:
        """What is wrong with an input of that name."""
        hint = nearest(name[:_MOST_LETTERS], self.inputs)
        return f"the model has no input of that name{hint}; it takes {listed(self.inputs)}"

    def tensor(self, name: str, data: Any, shape: tuple[int, ...]) -> Array:
        """An input's array from its bytes, as they lie in shared memory: of numbers a view on them.

        Args:
            name: of an input.
            data: bytes, or something with their buffer, of exactly the tensor's size.

        Raises:
            InputError: the bytes are not of that type and shape.
        """
        port = self.inputs[name]
        view = memoryview(data).cast("B")
        try:
            return port.view(shape, port.count(shape), view, 0, len(view))
        except Wrong as wrong:
            raise InputError(f"input {shown(name)}: {wrong}") from None

    def packed(self, name: str, array: Array) -> bytes | memoryview:
        """An output's bytes, as they go to shared memory."""
        return self.outputs[name].pack(array)


def _carried(spec: TensorSpec) -> bool:
    return spec.dtype is not None and spec.dtype.protocol is not None


def _tied(specs: Sequence[TensorSpec]) -> bool:
    """Whether a symbol stands in two inputs: within one, each shape is checked alone."""
    seen: set[str] = set()
    for spec in specs:
        symbols = {d for d in spec.shape if isinstance(d, str)}
        if symbols & seen:
            return True
        seen |= symbols
    return False


def listed(names: Mapping[str, object]) -> str:
    """The names for a message; the first of many."""
    most = 16
    return ", ".join(list(names)[:most]) + (", …" if len(names) > most else "")

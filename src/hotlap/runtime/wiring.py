"""Can a model's inputs and outputs be bound to memory of ours, and if not, why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hotlap.plan import Plan
from hotlap.providers import PROVIDERS
from hotlap.tensors import TensorSpec

__all__ = ["Path", "Wiring"]

_OURS = frozenset({"cpu", "openvino", "xnnpack"})
"""Providers that read and write the CPU's memory when they run. ORT copies an input to a GPU when it is
bound, so what is written into a bound buffer later would not be seen."""


class Path(str):
    """``"bound"`` or ``"plain"``; `why` says why."""

    __slots__ = ("why",)
    why: str

    def __new__(cls, word: str, why: str) -> Path:
        path = super().__new__(cls, word)
        path.why = why
        return path

    def __reduce__(self) -> tuple[type[Path], tuple[str, str]]:
        return Path, (str(self), self.why)


class Wiring:
    """What of the signature matters for binding.

    Attributes:
        inputs, outputs: the signature; each output once, though a model may list one twice.
        echoes: outputs that are an input of the same name: ORT leaves a bound one as it was, in silence, and
            gives the input's own memory for an unbound one, so we copy the input.
        quick: every type is one of numpy's, so buffers can be kept from call to call.
        path: whether anything is bound.
    """

    def __init__(
        self,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        session: Any,
        plan: Plan,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple({s.name: s for s in outputs}.values())
        self.echoes = {s.name for s in inputs} & {s.name for s in outputs}
        self.quick = all(s.dtype is not None and s.dtype.numpy is not None for s in (*inputs, *outputs))
        why = self._why_not(session, plan)
        if why:
            self.path = Path("plain", why)
        else:
            self.path = Path("bound", "every input and output is a tensor of numbers in the CPU's memory")

    @property
    def bound(self) -> bool:
        return self.path == "bound"

    def _why_not(self, session: Any, plan: Plan) -> str:
        for side, specs in (("input", self.inputs), ("output", self.outputs)):
            for spec in specs:
                if spec.dtype is None or spec.dtype.name == "string":
                    return f'{side} "{spec.name}" is {spec.label}: only tensors of numbers can be bound'
        short = {p.ort_name: p.name for p in PROVIDERS.values()}
        for provider in session.get_providers():
            name = short.get(provider, provider)
            if name not in _OURS:
                return f"{name} keeps tensors in memory of its own"
            if name == "openvino" and getattr(plan.provider_options(name), "device", "CPU") != "CPU":
                return "OpenVINO runs on another device than the CPU"
        if self.echoes >= {s.name for s in self.outputs}:
            return "every output is an input passed through"
        return ""

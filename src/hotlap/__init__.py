"""hotlap: the fastest honest lap of a model on ONNX Runtime.

The names below are the whole public face; each is loaded when it is first used, so that
``import hotlap`` stays as light as numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from hotlap.bench import Comparison, Measurement, Workload, compare, measure
    from hotlap.errors import HotlapError
    from hotlap.machine import Machine
    from hotlap.model import Model
    from hotlap.plan import Plan
    from hotlap.runtime import FakeRunner, Runner, open
    from hotlap.tensors import TensorSpec
    from hotlap.tune import Tuning
    from hotlap.verify import Verdict

_HOME = {
    "Comparison": "bench",
    "FakeRunner": "runtime",
    "HotlapError": "errors",
    "Machine": "machine",
    "Measurement": "bench",
    "Model": "model",
    "Plan": "plan",
    "Runner": "runtime",
    "TensorSpec": "tensors",
    "Tuning": "tune",
    "Verdict": "verify",
    "Workload": "bench",
    "compare": "bench",
    "measure": "bench",
    "open": "runtime",
}
_ROOMS = (
    "bench",
    "cpus",
    "errors",
    "inspect",
    "machine",
    "model",
    "passes",
    "plan",
    "providers",
    "runtime",
    "tensors",
    "tune",
    "verify",
)

__all__ = [
    "Comparison",
    "FakeRunner",
    "HotlapError",
    "Machine",
    "Measurement",
    "Model",
    "Plan",
    "Runner",
    "TensorSpec",
    "Tuning",
    "Verdict",
    "Workload",
    "compare",
    "measure",
    "open",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:  # hotlap.tune.tune(...), hotlap.verify.verify(...)
        return import_module(f"hotlap.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'hotlap' has no attribute {name!r}")
    value = getattr(import_module(f"hotlap.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS, "__version__"])

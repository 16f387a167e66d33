from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

import hotlap
from hotlap.plan import Plan
from hotlap.runtime.wiring import Path, Wiring
from hotlap.tensors import TensorSpec
from tests.real import NAMES, real

X, Y = TensorSpec.of("x", "float32", ["N"]), TensorSpec.of("y", "int64", ["N"])


def wiring(inputs: Any = (X,), outputs: Any = (Y,), *providers: str, plan: Plan | None = None) -> Wiring:
    session = SimpleNamespace(get_providers=lambda: [f"{p}ExecutionProvider" for p in providers or ("CPU",)])
    return Wiring(inputs, outputs, session, plan or Plan())


def test_numbers_in_the_cpus_memory_are_bound() -> None:
    for providers in (("CPU",), ("OpenVINO", "CPU"), ("OpenVINO",), ("Xnnpack", "CPU")):
        made = wiring((X,), (Y,), *providers)
        assert made.path == "bound" and made.bound and made.quick
        assert made.path.why == "every input and output is a tensor of numbers in the CPU's memory"


@pytest.mark.parametrize(
    ("side", "spec"),
    [
        ("input", TensorSpec.of("t", "string", [1])),
        ("output", TensorSpec("s", "seq(tensor(float))")),
        ("output", TensorSpec("m", "seq(map(int64,tensor(float)))")),
        ("input", TensorSpec("p", "sparse_tensor(float)")),
        ("input", TensorSpec("o", "optional(tensor(float))")),
    ],
)
def test_what_is_no_tensor_of_numbers_is_run_plainly(side: str, spec: TensorSpec) -> None:
    made = wiring((X, spec), (Y,)) if side == "input" else wiring((X,), (Y, spec))
    assert made.path == "plain" and not made.bound
    assert made.path.why == f'{side} "{spec.name}" is {spec.label}: only tensors of numbers can be bound'


def test_memory_of_another_device_is_not_bound() -> None:
    assert wiring((X,), (Y,), "CUDA", "CPU").path.why == "cuda keeps tensors in memory of its own"
    assert wiring((X,), (Y,), "Unheard").path == "plain"
    plan = Plan(providers=("openvino",), provider={"openvino": {"device": "GPU"}})
    assert "another device than the CPU" in wiring((X,), (Y,), "OpenVINO", plan=plan).path.why


def test_types_that_numpy_lacks_are_bound_for_each_call() -> None:
    made = wiring((TensorSpec.of("b", "bfloat16", [1]),))
    assert made.bound and not made.quick


def test_outputs_count_once_and_those_that_are_inputs_are_known() -> None:
    made = wiring((X,), (Y, Y, X))
    assert [s.name for s in made.outputs] == ["y", "x"] and made.echoes == {"x"} and made.bound
    assert "passed through" in wiring((X,), (X,)).path.why


def test_a_path_is_a_word_with_a_reason() -> None:
    path = pickle.loads(pickle.dumps(Path("plain", "no reason")))
    assert path == "plain" and path.why == "no reason" and f"{path}" == "plain"


@pytest.mark.parametrize("name", NAMES)
def test_every_real_model_is_bound(name: str) -> None:
    model = real(name)
    assert hotlap.open(model.path, warm=False).path == "bound"

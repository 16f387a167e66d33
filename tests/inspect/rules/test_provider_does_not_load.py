from __future__ import annotations

from dataclasses import replace

from hotlap.inspect.case import Case, Ran, Runtime
from hotlap.inspect.rules import provider_does_not_load
from hotlap.model.walk import Walk
from tests import tiny


def case(**refusals: str) -> Case:
    return Case(
        anatomy=None,  # these rules do not look at it
        walk=Walk(tiny.mlp()),
        weights={},
        runtime=Runtime(ort="1.32.0", providers=("cuda", "tensorrt", "cpu")),
        ran=Ran(provider_refusals=refusals),
    )


def test_each_provider_that_refuses_is_found_with_its_reason() -> None:
    found = list(
        provider_does_not_load.find(
            case(cuda="libcublasLt.so.13 is missing", tensorrt="libnvinfer.so.10 is missing")
        )
    )
    assert [f.message for f in found] == [
        "cuda does not load: libcublasLt.so.13 is missing",
        "tensorrt does not load: libnvinfer.so.10 is missing",
    ]
    assert {(f.code, f.severity) for f in found} == {("HL501", "error")}


def test_providers_that_load_have_no_finding() -> None:
    assert list(provider_does_not_load.find(case())) == []
    assert list(provider_does_not_load.find(replace(case(), ran=None))) == []

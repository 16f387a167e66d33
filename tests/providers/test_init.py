from __future__ import annotations

import pytest

from hotlap.errors import PlanError
from hotlap.providers import PROVIDERS, provider_named


def test_a_provider_is_found_by_either_name() -> None:
    for name, cls in PROVIDERS.items():
        assert provider_named(name) is provider_named(cls.ort_name) is cls
        assert cls.name == name and cls.ort_name.endswith("ExecutionProvider")


def test_an_unknown_provider_is_told_with_the_nearest() -> None:
    with pytest.raises(PlanError) as caught:
        provider_named("CudaExecutionProvider")
    assert str(caught.value).startswith(
        'unknown provider "CudaExecutionProvider" (did you mean "CUDAExecutionProvider"?); known: cpu, cuda'
    )
    with pytest.raises(PlanError, match="AzureExecutionProvider"):
        provider_named("AzureExecutionProvider")

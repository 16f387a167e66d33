from __future__ import annotations

from hotlap.providers import CoreMl


def test_options_have_orts_names_and_texts() -> None:
    options = CoreMl(
        ml_compute_units="CPUOnly",
        model_format="MLProgram",
        enable_on_subgraphs=True,
        allow_low_precision_accumulation_on_gpu=False,
    ).options(2, "on")
    assert options == {
        "MLComputeUnits": "CPUOnly",
        "ModelFormat": "MLProgram",
        "EnableOnSubgraphs": "1",
        "AllowLowPrecisionAccumulationOnGPU": "0",
    }

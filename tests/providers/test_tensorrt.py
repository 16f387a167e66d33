from __future__ import annotations

from hotlap.providers import TensorRt


def test_options_have_orts_names_and_texts() -> None:
    options = TensorRt(trt_fp16_enable=True, trt_auxiliary_streams=-1, trt_timing_cache_enable=False).options(
        2, "on"
    )
    assert options == {"trt_fp16_enable": "1", "trt_auxiliary_streams": "-1", "trt_timing_cache_enable": "0"}

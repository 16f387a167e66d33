from __future__ import annotations

from hotlap.providers import NvTensorRtRtx


def test_options_have_orts_names_and_texts() -> None:
    options = NvTensorRtRtx(device_id=0, enable_cuda_graph=True, nv_profile_min_shapes="x:1x3").options(
        2, "on"
    )
    assert options == {"device_id": "0", "enable_cuda_graph": "1", "nv_profile_min_shapes": "x:1x3"}

from __future__ import annotations

from hotlap.providers import WebGpu


def test_options_have_orts_names_and_texts() -> None:
    options = WebGpu(
        preferred_layout="NCHW", storage_buffer_cache_mode="lazyRelease", enable_graph_capture=True
    ).options(2, "on")
    assert options == {
        "preferredLayout": "NCHW",
        "storageBufferCacheMode": "lazyRelease",
        "enableGraphCapture": "1",
    }

from __future__ import annotations

from hotlap.providers import Cuda


def test_options_have_orts_names_and_texts() -> None:
    options = Cuda(gpu_mem_limit=2**31, enable_cuda_graph=True, sdpa_kernel=3).options(2, "on")
    assert options == {"gpu_mem_limit": "2147483648", "enable_cuda_graph": "1", "sdpa_kernel": "3"}

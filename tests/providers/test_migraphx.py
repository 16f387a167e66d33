from __future__ import annotations

from hotlap.providers import MiGraphX


def test_options_have_orts_names_and_texts() -> None:
    options = MiGraphX(migraphx_fp16_enable=True, migraphx_mem_limit=1024).options(2, "on")
    assert options == {"migraphx_fp16_enable": "1", "migraphx_mem_limit": "1024"}

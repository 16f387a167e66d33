from __future__ import annotations

from hotlap.providers import Qnn


def test_options_have_orts_names_and_texts() -> None:
    options = Qnn(backend_type="htp", htp_arch=73, enable_htp_fp16_precision=False).options(2, "on")
    assert options == {"backend_type": "htp", "htp_arch": "73", "enable_htp_fp16_precision": "0"}

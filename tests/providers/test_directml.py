from __future__ import annotations

from hotlap.providers import DirectMl


def test_options_have_orts_names_and_texts() -> None:
    options = DirectMl(device_filter="npu", disable_metacommands=True).options(2, "on")
    assert options == {"device_filter": "npu", "disable_metacommands": "true"}

from __future__ import annotations

import pytest

from hotlap.providers import PROVIDERS, Cuda, OpenVino, Provider, Qnn
from hotlap.providers.listing import ProviderOption, options_of


def row(cls: type[Provider], name: str) -> ProviderOption:
    return next(o for o in options_of(cls) if o.name == name)


@pytest.mark.parametrize("cls", PROVIDERS.values(), ids=lambda c: c.name)
def test_every_option_is_described(cls: type[Provider]) -> None:
    rows = options_of(cls)
    assert [o.name for o in rows][-1] == "extra"
    assert len({o.name for o in rows}) == len(rows)
    for option in rows:
        assert option.doc.endswith(".") and len(option.doc) < 200, option.name
        assert option.default, option.name


def test_rows_say_type_values_and_bounds() -> None:
    device, search = row(Cuda, "device_id"), row(Cuda, "cudnn_conv_algo_search")
    assert (device.kind, device.low, device.default, device.since) == ("a whole number", 0, "0", "1.24")
    assert (search.kind, set(search.values)) == ("one of", {"EXHAUSTIVE", "HEURISTIC", "DEFAULT"})
    assert row(Cuda, "use_tf32").kind == "true or false" and row(Cuda, "use_tf32").numbers
    assert row(OpenVino, "properties").kind == "a table of texts"
    assert row(OpenVino, "cache_dir").holds == "folder" and not row(OpenVino, "cache_dir").numbers


def test_libraries_are_marked_as_code() -> None:
    code = {f"{n}.{o.name}" for n, c in PROVIDERS.items() for o in options_of(c) if o.holds == "code"}
    assert code == {
        "tensorrt.trt_engine_decryption_lib_path",
        "tensorrt.trt_extra_plugin_lib_paths",
        "qnn.backend_path",
        "qnn.op_packages",
    }
    assert row(Qnn, "profiling_file_path").holds == "file"

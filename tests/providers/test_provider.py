from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.providers import FLOOR, PROVIDERS, CoreMl, Cuda, Provider, TensorRt
from hotlap.providers.listing import options_of

EVERY = pytest.mark.parametrize("cls", PROVIDERS.values(), ids=lambda c: c.name)


@EVERY
def test_nothing_given_is_orts_defaults_and_extra_passes(cls: type[Provider]) -> None:
    written = cls().written()
    assert written == {} or cls.name == "openvino"
    assert cls(extra={"of_later": "1"}).options(2, "on")["of_later"] == "1"


@EVERY
def test_a_provider_is_a_value(cls: type[Provider]) -> None:
    assert cls() == cls() and cls.install and cls.since >= FLOOR
    with pytest.raises(AttributeError):
        cls().extra = {}  # type: ignore[misc]


@EVERY
def test_what_is_refused_is_no_option(cls: type[Provider]) -> None:
    assert not {o.name for o in options_of(cls)} & set(cls.instead)


def test_values_become_orts_texts() -> None:
    cuda = Cuda(device_id=1, use_tf32=False, prefer_nhwc=True, cudnn_conv_algo_search="DEFAULT")
    assert cuda.options(4, "on") == {
        "device_id": "1",
        "use_tf32": "0",
        "prefer_nhwc": "1",
        "cudnn_conv_algo_search": "DEFAULT",
    }


def test_folders_begin_at_the_plans_folder(tmp_path: Path) -> None:
    relative = TensorRt(trt_engine_cache_path="engines", trt_profile_min_shapes="x:1x3")
    assert relative.options(1, "on", tmp_path) == {
        "trt_engine_cache_path": str(tmp_path / "engines"),
        "trt_profile_min_shapes": "x:1x3",
    }
    absolute = str(tmp_path / "elsewhere")
    assert CoreMl(model_cache_directory=absolute).options(1, "on", Path("/plans")) == {
        "ModelCacheDirectory": absolute
    }
    assert relative.options(1, "on")["trt_engine_cache_path"] == "engines"

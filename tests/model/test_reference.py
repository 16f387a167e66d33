from __future__ import annotations

import pytest
from onnx import TensorProto as T

from hotlap.model.reference import Reference, is_external, reference


def tensor(**entries: str) -> T:
    built = T(name="w", data_type=T.FLOAT, dims=[10], data_location=T.EXTERNAL)
    for key, value in entries.items():
        built.external_data.add(key=key, value=value)
    return built


def test_it_is_read_as_the_model_says() -> None:
    found = tensor(location="sub/w.bin", offset="64", length="40", checksum="ab")
    assert is_external(found) and not is_external(T())
    assert reference(found) == Reference("w", "sub/w.bin", 64, 40, "ab")


def test_what_is_left_out_follows_from_the_shape() -> None:
    assert reference(tensor(location="w.bin")) == Reference("w", "w.bin", 0, 40)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"offset": "much"}, "no readable place"),
        ({"offset": "-4"}, "no readable place"),
        ({"length": "-40"}, "no readable place"),
        ({"offset": str(2**63)}, "no readable place"),
        ({"offset": "9" * 5000}, "no readable place"),
        ({"offset": "1_0"}, "no readable place"),
        ({"offset": " 0"}, "no readable place"),
        ({"offset": "٣"}, "no readable place"),
        ({"length": "41"}, "needs 40 bytes and points to 41"),
        ({"length": "39"}, "needs 40 bytes and points to 39"),
    ],
)
def test_a_place_that_cannot_be_is_told(entries: dict[str, str], said: str) -> None:
    assert said in reference(tensor(location="w.bin", **entries)).said

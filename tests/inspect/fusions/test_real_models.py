"""What the rules about fusions say of the twelve real models.

Each was confirmed by hand: with the blocker taken out of a copy of the file, ORT fuses.
"""

from __future__ import annotations

from collections import Counter

import onnx
import pytest

from hotlap.inspect.fusions import (
    attention,
    conv_activation,
    conv_batchnorm,
    gelu,
    layer_norm,
    matmul_add,
    running,
    skip_layer_norm,
)  # fmt: skip
from tests.inspect.fusions.graphs import case
from tests.real import NAMES, real

FUSIONS = {
    "conv_batchnorm": conv_batchnorm,
    "conv_activation": conv_activation,
    "matmul_add": matmul_add,
    "layer_norm": layer_norm,
    "skip_layer_norm": skip_layer_norm,
    "gelu": gelu,
    "attention": attention,
}

FOUND = {
    "ocr6-rec": {
        ("layer_norm", "shape operator in between"): 1,
        ("skip_layer_norm", "second reader"): 3,
    },
    "minilm": {("attention", "opset too high"): 3},
    "minilm-int8": {("gelu", "written in another way"): 6},
}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_found(name: str) -> None:
    run = running(case(onnx.load(real(name).path)))
    assert run is not None
    found = Counter(
        (which, place.blockers[0].kind if place.blockers else "not told")
        for which, fusion in FUSIONS.items()
        for place in fusion(run)
    )
    assert found == FOUND.get(name, {})

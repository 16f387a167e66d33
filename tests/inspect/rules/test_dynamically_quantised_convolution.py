"""HL211: convolutions quantised in every call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto

from hotlap.inspect.rules import dynamically_quantised_convolution as rule
from tests import tiny
from tests.inspect.cases import found
from tests.inspect.quantised import dynamic_conv, dynamic_matmul, full_range, qdq_conv
from tests.inspect.runs import run


def test_it_is_named(tmp_path: Path) -> None:
    assert run(dynamic_conv(), x=np.ones((1, 4, 8, 8), np.float32))[0].shape == (1, 8, 6, 6)
    [one] = found(rule, dynamic_conv(), tmp_path)
    assert (one.severity, one.node, one.tensor) == ("warning", 'ConvInteger "conv"', "w")
    assert one.message == 'ConvInteger "conv" is quantised anew in every call'
    assert one.cost.startswith("measured 9 to 17 times slower")
    unsigned = dynamic_conv()
    [weights] = unsigned.graph.initializer
    weights.data_type = TensorProto.UINT8
    [one] = found(rule, unsigned, tmp_path)
    assert one.cost.startswith("measured no faster")


def test_others(tmp_path: Path) -> None:
    for model in (dynamic_matmul(), qdq_conv(full_range((8, 4, 3, 3))), tiny.conv()):
        assert found(rule, model, tmp_path) == []

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests import tiny
from tests.runtime.probe import kinds
from tests.runtime.probe.kinds import facts_of

LIMITS = {"ids": 100}


@pytest.mark.parametrize(
    ("model", "padding"),
    [
        (kinds.mean_of_tokens(masked=True), {"L": "insensitive"}),
        (kinds.mean_of_tokens(masked=False), {"L": "sensitive"}),
        (
            tiny.gather_mask(table=np.random.default_rng(0).standard_normal((100, 8), np.float32)),
            {"L": "insensitive"},
        ),
        (tiny.add_pair(), {"M": "insensitive"}),
        (kinds.recurrent(["time", "batch", 4], [1, "batch", 8]), {"time": "sensitive"}),
        (kinds.one_length(), {"L": "unknown"}),
        (tiny.mlp(), {}),
    ],
)
def test_does_padding_change_the_answers(
    model: onnx.ModelProto, padding: dict[str, str], tmp_path: Path
) -> None:
    assert facts_of(model, tmp_path, limits=LIMITS).padding == padding


def test_a_pooled_answer_is_compared_whole(tmp_path: Path) -> None:
    nodes = [tiny.node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=0)]
    facts = facts_of(kinds.of_x(nodes, ["N", 3], None, ("N", "L", 3)), tmp_path)
    assert facts.padding == {"L": "sensitive"}
    nodes = [tiny.node("ReduceSum", ["x", "one"], ["y"], keepdims=0)]
    facts = facts_of(kinds.of_x(nodes, ["N", 3], {"one": [1]}, ("N", "L", 3)), tmp_path)
    assert facts.padding == {"L": "insensitive"}


def test_ids_that_are_all_0_and_1_prove_nothing(tmp_path: Path) -> None:
    table = np.random.default_rng(0).standard_normal((100, 8), np.float32)
    assert facts_of(tiny.gather_mask(table=table), tmp_path).padding == {"L": "unknown"}


def test_a_model_that_draws_at_random_says_nothing_of_padding(tmp_path: Path) -> None:
    model = kinds.random(1.0)
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[1].dim_param = "L"
    assert facts_of(model, tmp_path).padding == {"L": "unknown"}

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hotlap.bench import Target
from hotlap.verify import calibration
from hotlap.verify.sides import Sides
from hotlap.verify.span import spans
from hotlap.verify.verdict import Noise
from tests import tiny


def test_the_most_of_all_runs_counts() -> None:
    found = [{"y": Noise(max_rel=1, rms=2)}, {"y": Noise(rms=1, mismatched=3), "z": Noise(reshaped=4)}]
    assert calibration.most(found, "y") == Noise(max_rel=1, rms=2, mismatched=3)
    assert calibration.most(found, "z") == Noise(reshaped=4)
    assert calibration.most(found, "w") == Noise()


@pytest.mark.parametrize(
    ("model", "feed", "nudged_inputs"),
    [
        (tiny.mlp(), {"x": np.ones((1, 16), np.float32)}, True),
        (tiny.gather_mask(), {n: np.ones((1, 4), np.int64) for n in ("ids", "mask")}, False),
    ],
    ids=["float inputs", "ids"],
)
def test_floats_are_nudged_in_the_inputs_or_else_in_the_weights(
    tmp_path: Path, model: object, feed: dict, nudged_inputs: bool
) -> None:
    target = Target.default(tiny.save(model, tmp_path / "model.onnx"))  # type: ignore[arg-type]
    sides = Sides([feed])
    try:
        found = calibration.variants(sides, target)
        assert (found[0][1] is not None) == nudged_inputs
        assert (found[0][0] == target) == nudged_inputs
        assert found[-1][0].kind == "plan" and len(found) == (5 if nudged_inputs else 3)
        sides.ask([sides.one(target, "first")], "model", 60)
        known = spans(sides.answers("first"), {})
        noise = calibration.measure(sides, target, known, "first", [0], 60)
        assert len(noise) == len(found)
        assert 0 < calibration.most(noise, "y").max_rel < 1e-5
    finally:
        sides.close()

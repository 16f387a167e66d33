from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from benchmarks.planted import planned
from hotlap.bench import Target
from hotlap.plan import Plan
from hotlap.verify.noise import has_floats, nudge, nudged_model, unoptimised
from tests import tiny

floats = arrays.arrays(
    st.sampled_from([np.float16, np.float32, np.float64]), arrays.array_shapes(max_dims=3, min_side=0)
)


@given(floats, st.integers(0, 9))
def test_a_nudge_moves_each_value_to_a_neighbour_and_its_twin_to_the_other(x: np.ndarray, seed: int) -> None:
    with np.errstate(over="ignore"):
        one, other = (nudge({"x": x}, 2 * seed + k)["x"] for k in (0, 1))
        up = np.nextafter(x, x.dtype.type(np.inf))
        down = np.nextafter(x, x.dtype.type(-np.inf))
    assert one.dtype == x.dtype and one.shape == x.shape
    still = (x == 0) | ~np.isfinite(x)
    edge = ~np.isfinite(up) | ~np.isfinite(down)
    assert np.array_equal(one[still], x[still], equal_nan=True)
    moved = ~still & ~edge
    assert (np.where(one == up, other == down, (one == down) & (other == up)) | ~moved).all()


def test_integers_and_settings_stay_and_inputs_are_not_nudged_alike() -> None:
    feed = {"ids": np.arange(9), "rate": np.array(16_000.0), "x": np.ones(100, np.float32)}
    first, second = nudge(feed, 0, number=0), nudge(feed, 0, number=1)
    assert first["ids"] is feed["ids"] and first["rate"] is feed["rate"]
    assert not np.array_equal(first["x"], second["x"])


def test_only_floats_with_an_axis_can_be_nudged() -> None:
    assert has_floats([{"x": np.ones(2, np.float16)}])
    assert not has_floats([{"ids": np.arange(3), "rate": np.array(1.0), "none": np.zeros((0,), np.float32)}])


@pytest.fixture
def mlp(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "mlp.onnx")


def test_unoptimised_keeps_the_plan_and_turns_the_optimiser_off(mlp: Path) -> None:
    plan = Plan.loads(unoptimised(planned(mlp, threads=1)).plan or "")
    assert (plan.threads, plan.session["graph_optimization_level"]) == (1, "ORT_DISABLE_ALL")
    assert unoptimised(Target.default(mlp)).model == str(mlp)


def test_nudged_models_keep_the_kind_of_their_target(mlp: Path, tmp_path: Path) -> None:
    default = nudged_model(Target.default(mlp), tmp_path, 0)
    plan = nudged_model(planned(mlp, threads=1), tmp_path, 1)
    assert default is not None and default.kind == "default" and default.model != str(mlp)
    assert plan is not None and Plan.loads(plan.plan or "").threads == 1 and plan.model != str(mlp)


def test_a_model_without_weights_cannot_be_nudged(tmp_path: Path) -> None:
    assert nudged_model(Target.default(tiny.save(tiny.add(), tmp_path / "add.onnx")), tmp_path, 0) is None

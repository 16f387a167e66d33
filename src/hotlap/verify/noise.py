"""The model's own float noise: what the last bit of the inputs, or another order of the sums, changes.

No bound holds for all models: with real inputs the same nudge moves one model's output by 1e-7 of its range
and another's by a tenth. So each model is measured, on the data that it is judged on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from hotlap.bench import Target
from hotlap.errors import HotlapError
from hotlap.model.nudge import nudged_copy
from hotlap.plan import ModelRef, Plan
from hotlap.runtime import file_digest

__all__ = ["has_floats", "moved", "nudge", "nudged_model", "unoptimised"]

Array = npt.NDArray[Any]
Feed = dict[str, Array]

NUDGES = 4
"""Draws of the inputs' last bits. They come in pairs: what goes up in one goes down in the other."""


def nudge(feed: Mapping[str, Array], seed: int, number: int = 0) -> Feed:
    """The feed with every float one unit in the last place up or down, at random.

    Zeros stay: their neighbours are denormals, not rounding errors. So do NaN, infinities, and arrays of
    one value without an axis, which are settings rather than measurements.

    Args:
        feed: name to array.
        seed: of the draw; 2k + 1 moves every value the other way than 2k.
        number: of the input, so that equal inputs are not nudged alike.
    """
    rng = np.random.default_rng((seed // 2, number))
    return {
        name: _nudged(array, rng, seed % 2 == 1) if _movable(array) else array for name, array in feed.items()
    }


def has_floats(feeds: Sequence[Mapping[str, Array]]) -> bool:
    """Whether `nudge` can move anything in them."""
    return any(_movable(array) for feed in feeds for array in feed.values())


def _movable(array: Array) -> bool:
    return array.dtype.kind == "f" and array.ndim > 0 and array.size > 0


def _nudged(array: Array, rng: np.random.Generator, flip: bool) -> Array:
    up = rng.random(array.shape) < 0.5
    towards = np.where(up ^ flip, array.dtype.type(np.inf), array.dtype.type(-np.inf))
    moved = np.nextafter(array, towards)
    return np.where((array == 0) | ~np.isfinite(array) | ~np.isfinite(moved), array, moved)


def unoptimised(target: Target) -> Target:
    """The same model without graph optimisation: other kernels, other orders of the sums."""
    plan = Plan.loads(target.plan, where=target.label) if target.plan else Plan()
    session = {**plan.session, "graph_optimization_level": "ORT_DISABLE_ALL"}
    return _planned(msgspec.structs.replace(plan, session=session), target, Path(target.model))


def nudged_model(target: Target, folder: Path, seed: int) -> Target | None:
    """The same target with a copy of its model whose float weights are nudged: for models of integer inputs.

    Args:
        target: whose model.
        folder: for the copy.
        seed: of the draw.

    Returns:
        None where it cannot be made: the graph library is missing, or the model has no float weights.
    """
    try:
        file = nudged_copy(Path(target.model), folder / f"nudged-{seed}.onnx", seed)
    except HotlapError:
        return None
    if file is None:
        return None
    return msgspec.structs.replace(moved(target, file), label=f"nudged weights {seed}")


def moved(target: Target, file: Path) -> Target:
    """The same target with another file of the model."""
    if target.kind == "default":
        return msgspec.structs.replace(target, model=str(file))
    return _planned(Plan.loads(target.plan or "", where=target.label), target, file)


def _planned(plan: Plan, target: Target, model: Path) -> Target:
    ref = ModelRef(path=str(model.absolute()), digest=file_digest(model))
    plan = msgspec.structs.replace(plan, model=ref)
    return Target.planned(plan, folder=target.plan_dir, label=target.label)

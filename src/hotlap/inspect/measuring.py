"""What each float value of a graph holds over some inputs, in float32 arithmetic: `measured_ranges`.

The model is run as a copy in which half precision is float32, unoptimised, with its inner values as outputs:
so a value beyond 65504 is seen as it is, and not as the infinity that half precision makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.inspect.case import Range
from hotlap.model.widened import node_values, widened, with_outputs
from hotlap.plan import Plan
from hotlap.runtime import Runner, find_feed
from hotlap.runtime.recipe import Recipe

__all__ = ["measured_ranges", "spread"]

FILE = "ranges.onnx"
AT_ONCE = 200
"""Values given out by one session: all of them together may not fit into memory."""
MADE, MOST_FEEDS = 4, 32

Feed = Mapping[str, Any]


def measured_ranges(
    path: Path, folder: Path, feeds: Sequence[Feed] | None, limits: Mapping[str, int]
) -> dict[str, tuple[float, float, bool]]:
    """Value to (lowest, highest, all finite); only float values that held a finite element.

    Args:
        path: the model; it is read here, external weights too.
        folder: for copies of it.
        feeds: the user's; None: some are made.
        limits: input name to how many ids there are, for what is made.

    Raises:
        HotlapError: the copy does not load, or no input runs.
    """
    model = widened(path)
    used = _made(model, folder, limits) if feeds is None else list(feeds)
    seen: dict[str, Range] = {}
    for feed in used:
        _add(seen, feed)
    for names in _portions(node_values(model)):
        runner = _opened(with_outputs(model, names), folder)
        for feed in used:
            _add(seen, {n: v for n, v in runner.run(_fitting(runner, feed)).items() if n in names})
        runner.close()
    return {name: (one.low, one.high, one.finite) for name, one in seen.items()}


def _portions(names: Sequence[str]) -> Iterator[frozenset[str]]:
    for start in range(0, len(names), AT_ONCE):
        yield frozenset(names[start : start + AT_ONCE])


def _opened(model: Any, folder: Path) -> Runner:
    file = folder / FILE
    file.write_bytes(model.SerializeToString())
    plan = Plan(session={"graph_optimization_level": "ORT_DISABLE_ALL"})
    recipe = Recipe(plan=plan, model=file, folder=folder)
    return Runner(recipe, recipe.load())


def _made(model: Any, folder: Path, limits: Mapping[str, int]) -> list[Feed]:
    with _opened(model, folder) as runner:
        return [find_feed(runner.run, runner.inputs, limits=limits, seed=seed) for seed in range(MADE)]


def spread(feeds: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of many feeds some evenly spaced ones, the first and the last among them."""
    if len(feeds) <= MOST_FEEDS:
        return list(feeds)
    return [feeds[i] for i in np.linspace(0, len(feeds) - 1, MOST_FEEDS).round().astype(int)]


def _fitting(runner: Runner, feed: Feed) -> Feed:
    """The user's feed fits the file; where that takes half precision, the copy takes float32."""
    wanted = {s.name: s.dtype.numpy for s in runner.inputs if s.dtype is not None}
    return {
        name: value.astype(np.float32)
        if getattr(value, "dtype", None) == np.float16 and wanted.get(name) == np.float32
        else value
        for name, value in feed.items()
    }


def _add(seen: dict[str, Range], values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
            continue
        mask = np.isfinite(value)
        finite = value[mask]
        before = seen.get(name)
        if not finite.size:
            if before is not None:
                seen[name] = Range(before.low, before.high, False)
            continue
        low, high = float(finite.min()), float(finite.max())
        if before is not None:
            low, high = min(low, before.low), max(high, before.high)
        seen[name] = Range(low, high, bool(mask.all()) and (before is None or before.finite))

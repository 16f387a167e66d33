"""Feeds for a target whose own are not given, made in the process that has it open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotlap.bench.data import Feed
from hotlap.bench.shapes import draw_shapes, split_symbols
from hotlap.bench.workload import Workload
from hotlap.errors import InputError, ModelError, UsageError
from hotlap.runtime.feeds import find_feed, make_feed
from hotlap.tensors import TensorSpec

__all__ = ["made_feeds"]

MADE = 64
"""So many feeds are drawn from a mix of shapes; a share of 1 in 64 is still among them."""
MOST_BYTES = 256 << 20
FEWEST = 8


def made_feeds(runner: Any, workload: Workload, limits: Mapping[str, int]) -> list[Feed]:
    """One feed that runs; with shapes in the workload, many, drawn from them.

    Args:
        runner: what `child.open_target` gives.
        workload: its seed and its shapes.
        limits: input name to how many ids there are, where that is known.

    Raises:
        InputError: none that could be made runs.
        UsageError: the target has no signature and the workload no shapes.
    """
    if not workload.shapes:
        if runner.inputs is None:
            raise UsageError(
                "a callable has no signature to make inputs from: give it data, or shapes, "
                "which make float32 arrays"
            )
        return [find_feed(runner.run, runner.inputs, seed=workload.seed, limits=limits)]
    drawn = draw_shapes(workload.shapes, MADE, workload.seed)
    specs = runner.inputs if runner.inputs is not None else _plain(drawn[0])
    inputs = {spec.name: spec for spec in specs}
    symbols = [d for spec in specs for d in spec.shape if isinstance(d, str)]
    feeds: list[Feed] = []
    size, enough_said = 0, True
    for number, shapes in enumerate(drawn):
        whole, sizes = split_symbols(shapes, inputs, symbols)
        given: dict[str, Any] = {
            "shapes": whole,
            "sizes": sizes,
            "limits": limits,
            "seed": workload.seed + number,
        }
        feed = make_feed(specs, **given)
        if not feeds:
            enough_said = _runs(runner, feed)
        # What the shapes leave open may have to be guessed in another way.
        feeds.append(feed if enough_said else find_feed(runner.run, specs, **given))
        size += sum(a.nbytes for a in feed.values())
        if size > MOST_BYTES and len(feeds) >= FEWEST:
            break
    return feeds


def _runs(runner: Any, feed: Feed) -> bool:
    try:
        runner.run(feed)
    except (InputError, ModelError):  # it does not fit the model, or into memory
        return False
    return True


def _plain(shapes: Mapping[str, tuple[int, ...]]) -> list[TensorSpec]:
    """What a callable without a signature takes: float32 arrays of the shapes' ranks."""
    return [TensorSpec.declared(name, "tensor(float)", [None] * len(s)) for name, s in shapes.items()]

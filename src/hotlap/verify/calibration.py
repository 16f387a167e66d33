"""Measuring the model's own noise: the reference again, with nothing moved but rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hotlap.bench import Target
from hotlap.verify import noise
from hotlap.verify.child import FAILED, NOISE, Sweep
from hotlap.verify.sides import Sides
from hotlap.verify.span import Span, packed_spans
from hotlap.verify.verdict import Noise

__all__ = ["measure", "most", "variants"]

WEIGHT_DRAWS = 2
"""Copies of the model with nudged weights, for models without float inputs."""


def measure(
    sides: Sides,
    target: Target,
    spans: Mapping[str, Span],
    first: str,
    numbers: list[int],
    allowed: float,
    names: Sequence[str] = (),
) -> list[dict[str, Noise]]:
    """How far each variant's answers lie from the reference's. A variant that fails is left out.

    Args:
        sides: where the answers are.
        target: the reference.
        spans: of its outputs.
        first: the name of its answers.
        numbers: which inputs.
        allowed: seconds after which it all counts as hung.
        names: of the outputs, for a callable that gives them without names.

    Raises:
        TargetFailed: the process crashed or hung.
    """
    sweeps = [
        Sweep(
            target=variant,
            folder=str(sides.home / f"noise-{n}"),
            numbers=numbers,
            nudge=seed,
            optional=True,
            against=str(sides.home / first),
            spans=packed_spans(spans),
            names=tuple(names),
        )
        for n, (variant, seed) in enumerate(variants(sides, target))
    ]
    sides.ask(sweeps, f"{target.label}, its noise", allowed)
    folders = (Path(one.folder) for one in sweeps)
    return [_read(folder) for folder in folders if not (folder / FAILED).exists()]


def variants(sides: Sides, target: Target) -> list[tuple[Target, int | None]]:
    """What differs from the reference by rounding alone: (target, seed of the inputs' nudge)."""
    floats = noise.has_floats([sides.feed(0)])
    nudged = [(target, seed) for seed in range(noise.NUDGES)] if floats else []
    if target.kind == "callable":  # nobody can reach its weights, or how it adds
        return [*nudged]
    last = (noise.unoptimised(target), None)
    if floats:
        return [*nudged, last]
    copies = (noise.nudged_model(target, sides.home, seed) for seed in range(WEIGHT_DRAWS))
    return [*((copy, None) for copy in copies if copy is not None), last]


def most(found: Sequence[Mapping[str, Noise]], label: str) -> Noise:
    """The most that an output moved in any of them."""
    seen = [one[label] for one in found if label in one]
    return Noise(
        max_rel=max((n.max_rel for n in seen), default=0.0),
        rms=max((n.rms for n in seen), default=0.0),
        mismatched=max((n.mismatched for n in seen), default=0.0),
        reshaped=max((n.reshaped for n in seen), default=0.0),
    )


def _read(folder: Path) -> dict[str, Noise]:
    return msgspec.msgpack.decode((folder / NOISE).read_bytes(), type=dict[str, Noise])

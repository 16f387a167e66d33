"""What inspecting each of the twelve real models says, on their real inputs."""

from __future__ import annotations

from collections.abc import Iterator

from examples.inputs.models import TWELVE, RealModel
from hotlap.inspect import Inspection, inspect

__all__ = ["inspection", "inspections"]

ROWS = 8


def inspection(model: RealModel) -> Inspection:
    """The model run on a few of its real inputs."""
    return inspect(model.path, data=model.feeds(ROWS))


def inspections() -> Iterator[tuple[RealModel, Inspection]]:
    """All of them, one after the other; each takes seconds."""
    for model in TWELVE:
        yield model, inspection(model)

"""The model that an address names: `served`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotlap.serve.http.routes import Match
from hotlap.serve.status import Unknown
from hotlap.tensors import nearest

if TYPE_CHECKING:
    from hotlap.serve.engine import Engine
    from hotlap.serve.served import Served

__all__ = ["served"]


def served(engine: Engine, match: Match) -> Served:
    """The model that an address names.

    Raises:
        Unknown: there is none of that name, or not of that version.
    """
    model = engine.models.get(match["model"])
    if model is None:
        raise Unknown(f'no model "{match["model"]}" is served{nearest(match["model"], engine.models)}')
    version = match.get("version")
    if version is not None and version != model.version:
        raise Unknown(f'model "{model.name}" has version {model.version}, not "{version}"')
    return model

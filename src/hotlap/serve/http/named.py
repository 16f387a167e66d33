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


def served(engine: Engine, match: Match, *, hint: bool = True) -> Served:
    """The model that an address names.

    Args:
        hint: the error may tell the name of another model.

    Raises:
        Unknown: there is none of that name, or not of that version.
    """
    model = engine.models.get(match["model"])
    if model is None:
        near = nearest(match["model"], engine.models) if hint else ""
        raise Unknown(f'no model "{match["model"]}" is served{near}')
    version = match.get("version")
    if version is not None and version != model.version:
        raise Unknown(f'model "{model.name}" has version {model.version}, not "{version}"')
    return model

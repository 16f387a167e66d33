"""Whether ONNX Runtime loads a draft, tried in a process of its own."""

from __future__ import annotations

from pathlib import Path

from hotlap.runtime import default_session
from hotlap.runtime import open as open_model

__all__ = ["tool"]


def tool(source: Path, result: Path, optimised: bool = False) -> None:
    """Runs in the tool's process: as little as possible is optimised, so that the graph itself is judged.

    Args:
        source, result: the file to load; nothing is written.
        optimised: load it as a session of no options does: the runtime folds constants, and looks at all
            types and shapes once more with what it found.

    Raises:
        ModelError: it does not load.
    """
    if optimised:
        default_session(source)
        return
    session = {"graph_optimization_level": "ORT_DISABLE_ALL"}
    open_model(source, providers="cpu", session=session, warm=False)

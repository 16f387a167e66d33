"""Whether ONNX Runtime loads a draft, tried in a process of its own."""

from __future__ import annotations

from pathlib import Path

from hotlap.runtime import open as open_model

__all__ = ["tool"]


def tool(source: Path, result: Path) -> None:
    """Runs in the tool's process: as little as possible is optimised, so that the graph itself is judged.

    Raises:
        ModelError: it does not load.
    """
    session = {"graph_optimization_level": "ORT_DISABLE_ALL"}
    open_model(source, providers="cpu", session=session, warm=False)

"""The baseline: what people run today, behind the same call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hotlap.runtime import ort
from hotlap.runtime.modelfile import check_model_file
from hotlap.runtime.runner import signature

__all__ = ["DefaultSession", "default_session"]


class DefaultSession:
    """``onnxruntime.InferenceSession(path)`` with no options at all, and its `run` with no checks.

    Attributes:
        session: ORT's own session.
        inputs, outputs: the model's signature.
    """

    def __init__(self, path: Path) -> None:
        check_model_file(path)
        with ort.translated(str(path)):
            self.session = ort.load().InferenceSession(str(path))
        self.inputs, self.outputs = signature(self.session, path)
        self._names = [s.name for s in self.outputs]

    def run(self, feed: Mapping[str, Any]) -> dict[str, Any]:
        """Output name to array, as ``session.run(None, feed)`` gives them.

        Raises:
            InputError: ORT refuses the feed.
        """
        try:
            return dict(zip(self._names, self.session.run(None, feed), strict=True))
        except ort.raised() as error:
            raise ort.run_error(error) from error


def default_session(path: str | Path) -> DefaultSession:
    """The model as a program loads it that sets nothing: the baseline of every comparison.

    Raises:
        ModelError: the file is missing, broken or not loadable.
    """
    return DefaultSession(Path(path))

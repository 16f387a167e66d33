"""A changed model under the face of the model that it came from, so that one can be compared with the other.

It renames inputs and outputs back and makes maps of probabilities again. It also answers many rows one by
one, which is how a model is asked that takes only one.

The answering process imports it as a callable target: see `hotlap.bench.calling`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hotlap.bench import Target
from hotlap.passes.draft import Draft
from hotlap.plan.files import write_whole
from hotlap.runtime import default_session

__all__ = ["Face", "View", "face_of", "view_target"]


class Face(msgspec.Struct, frozen=True, kw_only=True):
    """How a file's face differs from its source's (JSON).

    Attributes:
        model: the file.
        inputs: the source's name to the file's.
        outputs: the source's name to the file's.
        labels: the source's output to the keys of its maps.
        single: input to nothing but that its axis 0 holds rows: they are asked one by one.
        stacked: output to the axis along which the answers of single rows are put together.
    """

    model: str
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}
    labels: dict[str, list[Any]] = {}
    single: list[str] = []
    stacked: dict[str, int] = {}


def face_of(draft: Draft, model: Path) -> Face:
    """How to ask the file `model`, which holds `draft`, as if it were the source."""
    return Face(
        model=str(model.absolute()),
        inputs={source: name for name, source in draft.inputs.items()},
        outputs={origin.value: name for name, origin in draft.outputs.items()},
        labels={o.value: list(o.labels) for o in draft.outputs.values() if o.labels},
    )


def view_target(face: Face, folder: Path, label: str) -> Target:
    """The file behind the face as a target; `folder` gets a module that opens it, named after the label."""
    name = f"hotlap_view_{label}"
    write_whole(folder / f"{name}.json", msgspec.json.encode(face))
    write_whole(
        folder / f"{name}.py",
        b"from hotlap.passes.view import View\n\n\ndef opened():\n    return View.beside(__file__)\n",
    )
    return Target.calling(f"{name}:opened", folder=folder, label=label)


class View:
    """A file, asked and answering as its source.

    Attributes:
        inputs: None: it has no signature of its own, so feeds must be given.
    """

    inputs = None

    def __init__(self, face: Face) -> None:
        self._face = face
        self._session = default_session(face.model)
        self._takes = {spec.name for spec in self._session.inputs}
        self._outputs = [spec.name for spec in self._session.outputs]

    @classmethod
    def beside(cls, module: str) -> View:
        """The one whose face lies beside a module's file."""
        file = Path(module).with_suffix(".json")
        return cls(msgspec.json.decode(file.read_bytes(), type=Face))

    def run(self, feed: Mapping[str, Any]) -> dict[str, Any]:
        """Answers by the source's names."""
        if not self._face.single:
            return self._run(feed)
        rows = len(feed[self._face.single[0]])
        one_by_one = [self._run(self._row(feed, n)) for n in range(rows)]
        axes = self._face.stacked
        return {
            name: np.concatenate([answer[name] for answer in one_by_one], axis=axes[name])
            for name in one_by_one[0]
        }

    def _row(self, feed: Mapping[str, Any], row: int) -> dict[str, Any]:
        return {n: a[row : row + 1] if n in self._face.single else a for n, a in feed.items()}

    def _run(self, feed: Mapping[str, Any]) -> dict[str, Any]:
        own = {self._face.inputs.get(name, name): array for name, array in feed.items()}
        answers = self._session.run({name: own[name] for name in own if name in self._takes})
        names = self._face.outputs or {name: name for name in self._outputs}
        return {source: self._as_before(source, answers[name]) for source, name in names.items()}

    def _as_before(self, source: str, answer: Any) -> Any:
        labels = self._face.labels.get(source)
        if labels is None:
            return answer
        # The runtime sorts its maps by key, text by its bytes in UTF-8, which is Python's order too.
        return [dict(sorted(zip(labels, map(float, row), strict=True))) for row in answer]

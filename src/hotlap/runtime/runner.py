"""The Runner: a loaded model, ready to be called from any number of threads."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from hotlap.errors import HotlapError, InputError, PlanError
from hotlap.plan import Plan
from hotlap.runtime import ort
from hotlap.runtime.face import Face
from hotlap.runtime.feeds import find_feed, make_feed
from hotlap.runtime.modelfile import ranked_names
from hotlap.runtime.session import Loaded
from hotlap.tensors import TensorSpec

__all__ = ["Runner", "signature"]

log = logging.getLogger("hotlap.runtime")


class Runner(Face):
    """A model loaded as its plan says; made by `hotlap.open`.

    `threads` is the number of threads that work inside one call, the calling one included.
    """

    def __init__(self, loaded: Loaded, plan: Plan, model_path: Path) -> None:
        self._session: Any = loaded.session
        self.inputs, self.outputs = signature(loaded.session, model_path)
        self.plan = plan
        self.model_path = model_path
        self.threads = loaded.threads
        self.placement = loaded.placement
        self.providers = tuple(loaded.placement)
        self.notes = loaded.notes
        self._names = [s.name for s in self.outputs]
        self._run_options = _run_options(plan, loaded.folder)

    def warm(self) -> None:
        """Runs the model once for each of the plan's warm shapes, or once on a feed made from its signature.

        Raises:
            PlanError: a shape that the plan lists does not fit the model. A made feed that does not run is
                a note and a line in the log: a signature does not say everything.
        """
        if not self.plan.warm:
            self._warm_on_a_guess()
        for shapes in self.plan.warm:
            try:
                self.run(make_feed(self.inputs, shapes=shapes))
            except InputError as error:
                raise PlanError(f"warm: {_label(shapes)}: {'; '.join(error.problems)}") from error

    def _warm_on_a_guess(self) -> None:
        try:
            find_feed(self.run, self.inputs)
        except InputError as error:
            note = (
                f"not warmed: no made feed runs ({error.problems[0]}); list shapes under `warm` in the plan"
            )
            self.notes = (*self.notes, note)
            log.warning("%s: %s", self.model_path, note)

    def close(self) -> None:
        self._session = None

    def __repr__(self) -> str:
        takes = ", ".join(f"{s.name} {s.label}" for s in self.inputs)
        gives = ", ".join(f"{s.name} {s.label}" for s in self.outputs)
        state = "" if self._session is not None else ", closed"
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        how = f"{'+'.join(self.providers)}, {threads}, spin {self.plan.spin}{state}"
        return f"<Runner {self.model_path.name}: {how}; {takes} -> {gives}>"

    def _call(self, names: list[str], arrays: dict[str, Any]) -> list[Any]:
        session = self._session  # close() in another thread must not take it away half-way
        if session is None:
            raise self._closed()
        try:
            results: list[Any] = session.run(names, arrays, self._run_options)
        except HotlapError:
            raise
        except ort.exceptions() as error:
            raise ort.run_error(error) from error
        return results


def signature(session: Any, path: Path) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """The inputs and the outputs of a session that was loaded from the file at `path`."""
    nodes = (session.get_inputs(), session.get_outputs())
    # Only the file tells a scalar from a tensor whose number of axes nobody declared.
    doubtful = any(n.type.startswith("tensor") and not n.shape for side in nodes for n in side)
    ranked = ranked_names(path) if doubtful else frozenset()

    def spec(node: Any) -> TensorSpec:
        known = node.shape or not node.type.startswith("tensor") or node.name in ranked
        return TensorSpec.declared(node.name, node.type, node.shape if known else None)

    inputs, outputs = (tuple(map(spec, side)) for side in nodes)
    return inputs, outputs


def _run_options(plan: Plan, folder: Path) -> Any:
    """One for all calls, which is cheaper than one a call: ORT only reads it."""
    options = ort.load().RunOptions()
    for name, value in plan.run_attributes().items():
        setattr(options, name, value)
    for key, text in plan.run_entries(folder).items():
        options.add_run_config_entry(key, text)
    return options


def _label(shapes: Any) -> str:
    return ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())

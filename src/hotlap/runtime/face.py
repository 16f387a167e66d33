"""What every runner shows to its callers, whatever runs the model behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hotlap.errors import InputError, UsageError
from hotlap.plan import Plan
from hotlap.tensors import TensorSpec, check_feed, nearest

__all__ = ["Face"]

_MOST_NAMES = 64
"""Wrong names that are told; a client may send a million."""


class Face:
    """A loaded model. `Runner` and `FakeRunner` differ in `_call` alone.

    Attributes:
        inputs: name, element type and shape of each input, in the model's order.
        outputs: the same of each output.
        plan: how it was opened.
        model_path: the file.
        providers: short names of the execution providers that really run nodes.
        placement: short name of a provider to the number of nodes that it runs.
        notes: what the caller should know of how it was opened, one line each; often empty.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    plan: Plan
    model_path: Path
    providers: tuple[str, ...]
    placement: dict[str, int]
    notes: tuple[str, ...]
    _names: list[str]

    def run(self, feed: Mapping[str, Any], outputs: Sequence[str] | None = None) -> dict[str, Any]:
        """Runs the model once. Any number of threads may call at the same time.

        Args:
            feed: input name to array of the model's element type and shape. Lists, numbers and text are taken
                where no value is lost. The arrays are only read.
            outputs: names of the outputs wanted; None: all. The whole model runs in any case.

        Returns:
            Output name to array, in the order asked for. The arrays are the caller's own, for ever. Sequences
            and maps come as ORT gives them: a list of arrays, a list of dicts.

        Raises:
            InputError: the feed or a name does not fit: every problem at once.
            UsageError: the runner is closed.
            ProviderUnavailable: the execution provider failed while it ran.
        """
        names = self._names if outputs is None else self._wanted(outputs)
        return dict(zip(names, self._call(names, check_feed(self.inputs, feed)), strict=True))

    def __call__(self, value: Any) -> Any:
        """Runs a model of one input: ``y = runner(x)``.

        Args:
            value: the array for that input.

        Returns:
            The output itself where the model has one, else a dict as from `run`.

        Raises:
            InputError: the model has not exactly one input, or the value does not fit it.
        """
        if len(self.inputs) != 1:
            names = ", ".join(s.name for s in self.inputs) or "none"
            raise InputError(
                f"the model has {len(self.inputs)} inputs ({names}): call run({{name: array, ...}})"
            )
        results = self.run({self.inputs[0].name: value})
        return next(iter(results.values())) if len(results) == 1 else results

    def close(self) -> None:
        """Lets go of the model. Calls under way finish, later ones raise UsageError. Twice is fine."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, names: list[str], arrays: dict[str, Any]) -> list[Any]:
        raise NotImplementedError

    def _wanted(self, outputs: Sequence[str]) -> list[str]:
        asked = [outputs] if isinstance(outputs, str) else list(dict.fromkeys(outputs))
        if not asked:
            raise InputError("outputs is empty: name at least one, or leave it out for all")
        known = set(self._names)
        unknown = [n for n in asked if n not in known][:_MOST_NAMES]
        if unknown:
            gives = ", ".join(self._names)
            raise InputError(
                [
                    f'output "{n}": no such output{nearest(str(n), self._names)}; it gives {gives}'
                    for n in unknown
                ]
            )
        return asked

    def _closed(self) -> UsageError:
        return UsageError(f"this runner of {self.model_path.name} is closed: open the model again")

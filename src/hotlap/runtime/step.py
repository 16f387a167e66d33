"""One fixed signature, bound once for good: the least that a call from Python can cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol, cast

import numpy as np

from hotlap.errors import HotlapError, UsageError
from hotlap.runtime import ort

__all__ = ["Step", "copy_into", "prebound", "stepping"]

Arrays = dict[str, Any]


class Step(Protocol):
    """Write into `inputs`, call, read from `outputs`: ``step.inputs["x"][...] = x; y = step()["y"]``.

    For one thread at a time: threads take a step each.

    Attributes:
        inputs: input name to the array that the model reads.
        outputs: output name to array; a call writes into them, so they hold until the next call. An output
            whose shape does not follow from the inputs' is another array after each call.
        end: ``end(error)`` makes every later call raise the error.
    """

    inputs: Arrays
    outputs: Arrays
    end: Callable[[HotlapError], None]

    def __call__(self) -> Arrays: ...


def prebound(
    run: Callable[..., Any],
    binding: Any,
    options: Any,
    inputs: Arrays,
    outputs: Arrays,
    collect: Callable[[], None] | None,
    translate: Callable[[Exception], Exception],
) -> Step:
    """A step over a binding of ORT's in which all of `inputs` is bound.

    Args:
        run: the session's `run_with_iobinding`.
        collect: called after each run, where not every output is bound to its array.
        translate: what ORT raised, as ours.
    """
    if collect is not None:
        run = _followed_by(run, collect)
    busy = False

    # A plain function: calling an object of a class of ours would cost as much again as all that it does.
    def step() -> Arrays:
        nonlocal busy
        if busy:
            raise UsageError("this step is running already: give each thread a step of its own")
        busy = True
        try:
            run(binding, options)
        except HotlapError:
            raise
        except ort.raised() as error:  # not what a signal handler raises
            raise translate(error) from error
        finally:
            busy = False
        return outputs

    def end(error: HotlapError) -> None:
        nonlocal run

        def over(*_: Any) -> NoReturn:
            raise error

        run = over

    return stepping(step, inputs, outputs, end)


def _followed_by(run: Callable[..., Any], collect: Callable[[], None]) -> Callable[..., Any]:
    def both(binding: Any, options: Any) -> None:
        run(binding, options)
        collect()

    return both


def stepping(
    call: Callable[[], Arrays], inputs: Arrays, outputs: Arrays, end: Callable[[HotlapError], None]
) -> Step:
    """The function with what a `Step` shows."""
    step = cast(Step, call)
    step.inputs, step.outputs, step.end = inputs, outputs, end
    return step


def copy_into(outputs: Arrays, results: Arrays) -> None:
    """Each result into the array of its name where that fits, else in its place."""
    for name, result in results.items():
        held = outputs.get(name)
        if not (isinstance(held, np.ndarray) and isinstance(result, np.ndarray)):
            outputs[name] = result
        elif held.shape == result.shape and held.dtype == result.dtype:
            held[...] = result
        else:
            outputs[name] = result

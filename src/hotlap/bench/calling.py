"""A Python callable as a target: ``module:name``, imported where it is measured.

What ``name`` may be, in this order:

- something with ``run(feed)`` and ``inputs``, such as a `Runner`: its `run` is called;
- a ``torch.nn.Module``: put into evaluation mode and called in inference mode, with a tensor for each array,
  by the names of its ``forward`` where they fit, else in the feed's order;
- a callable that needs no argument, a class included: a factory. It is called once, as part of loading, and
  what it gives is looked at again;
- any other callable: called with the feed, a dict of input name to numpy array.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from hotlap.errors import UsageError

__all__ = ["Called", "imported", "open_callable"]


class Called:
    """A callable with the face that measuring needs.

    Attributes:
        run: answers one feed.
        inputs: its signature; None where it has none, and then feeds must be given.
    """

    def __init__(self, run: Callable[[Any], Any], inputs: Sequence[Any] | None) -> None:
        self.run = run
        self.inputs = inputs


def open_callable(function: str, folder: str) -> Called:
    """Import what ``module:name`` says and make it ready; `folder` is where the module is looked for first.

    Raises:
        UsageError: no such module or name, or it is no callable.
    """
    return _ready(imported(function, folder), function)


def imported(function: str, folder: str) -> Any:
    """What ``module:name`` names; `folder` is where the module is looked for first.

    Raises:
        UsageError: no such module or name.
    """
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module_name, _, name = function.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.split(".")[0] and error.name != module_name:
            raise  # the module is there, something that it needs is not
        raise UsageError(
            f"{function}: no module {error.name} in {folder} or among what is installed"
        ) from error
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise UsageError(f"{function}: {module_name} has no {name}") from error
    return found


def _ready(found: Any, function: str, made: bool = False) -> Called:
    if not isinstance(found, type):
        if callable(getattr(found, "run", None)) and hasattr(found, "inputs"):
            return Called(found.run, found.inputs)
        if _is_torch(found):
            return Called(_torch_call(found), None)
    if not callable(found):
        what = "gave" if made else "is"
        raise UsageError(f"{function}: {what} no callable but {type(found).__name__}")
    if not made and _needs_nothing(found):
        return _ready(found(), function, made=True)
    return Called(found, None)


def _needs_nothing(function: Any) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):  # it needs some, or nobody can say (a builtin)
        return False
    return True


def _is_torch(found: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(found, torch.nn.Module)


def _torch_call(net: Any) -> Callable[[Any], Any]:
    torch: Any = sys.modules["torch"]
    net.eval()
    takes = inspect.signature(net.forward).parameters

    def call(feed: Any) -> Any:
        with torch.inference_mode():
            tensors = {name: torch.from_numpy(array) for name, array in feed.items()}
            return net(**tensors) if tensors.keys() <= takes.keys() else net(*tensors.values())

    return call

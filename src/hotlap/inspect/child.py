"""The inspecting process: ``python -m hotlap.inspect.child REQUEST``.

Whatever loads the model into ONNX Runtime happens here: a hostile or broken model ends this process alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from hotlap.bench.child import end_with_parent
from hotlap.bench.data import load_feeds
from hotlap.bench.exchange import answer_and_end
from hotlap.errors import HotlapError, MissingExtra
from hotlap.inspect.measuring import measured_ranges
from hotlap.inspect.stages import EXECUTED, NOW, WEIGHTS, Answer, Request, Stage, write_answer
from hotlap.model.walk import ONNX
from hotlap.plan import Plan
from hotlap.runtime import Runner
from hotlap.runtime.chain import Assigned, assigned
from hotlap.runtime.probe import probe
from hotlap.runtime.recipe import Recipe

__all__ = ["answer", "main"]


class _Work:
    """The stages of one request; "load" and "probe" share a session."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.runner: Runner | None = None

    def opened(self, session: dict[str, str | int | float | bool] | None = None) -> Runner:
        """The model with the chain that was asked for, and the CPU for what that does not take."""
        plan = Plan(providers=tuple(dict.fromkeys((*self.request.providers, "cpu"))), session=session or {})
        recipe = Recipe(plan=plan, model=Path(self.request.model), folder=Path(self.request.folder))
        return Runner(recipe, recipe.load())

    def load(self) -> Answer:
        self.runner = self.opened()
        nodes = assigned(self.runner.session)
        return Answer(
            placement={name: [_op(n) for n in some] for name, some in nodes.items()},
            refusals=_refusals(self.runner.notes),
        )

    def probe(self) -> Answer:
        runner = self.runner or self.opened()
        feed = load_feeds(self.request.feeds)[0] if self.request.feeds else None
        return Answer(
            facts=probe(runner, feed=feed, limits=self.request.limits, declared=self.request.outputs)
        )

    def executed(self) -> Answer:
        self.runner = None
        options: dict[str, str | int | float | bool] = {"optimized_model_filepath": EXECUTED}
        if self.request.apart:
            options["session.optimized_model_external_initializers_file_name"] = WEIGHTS
        self.opened(options)
        return Answer(file=str(Path(self.request.folder) / EXECUTED))

    def ranges(self) -> Answer:
        self.runner = None
        request = self.request
        feeds = load_feeds(request.feeds) if request.feeds else None
        return Answer(
            ranges=measured_ranges(Path(request.model), Path(request.folder), feeds, request.limits)
        )


def answer(request: Request) -> None:
    """All stages, each to its end or to its error; a model that does not load ends them.

    Raises:
        MissingExtra: onnxruntime is not installed.
    """
    work, folder = _Work(request), Path(request.folder)
    stages: dict[Stage, Callable[[], Answer]] = {
        "load": work.load,
        "probe": work.probe,
        "executed": work.executed,
        "ranges": work.ranges,
    }
    for stage in request.stages:
        (folder / NOW).write_text(stage, "utf-8")
        try:
            found = stages[stage]()
        except MissingExtra:
            raise  # nothing about the model
        except HotlapError as error:
            found = Answer(error=" ".join(str(error).split()))
        except Exception as error:  # noqa: BLE001  one stage's surprise must not take the others along
            found = Answer(error=f"{type(error).__name__}: {' '.join(str(error).split())}")
        write_answer(folder, stage, found)
        if stage == "load" and found.error:
            return


def _op(node: Assigned) -> str:
    """As `hotlap.model.walk.Node.op` tells it."""
    return node.op if node.domain in ONNX else f"{node.domain}.{node.op}"


def _refusals(notes: tuple[str, ...]) -> dict[str, str]:
    """From what the chain says of the providers that it does not use."""
    parts = (note.partition(" not used: ") for note in notes)
    return {name: reason for name, found, reason in parts if found}


def main() -> None:
    request: Any = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Request)
    end_with_parent()
    answer_and_end(partial(answer, request), request.outcome)


if __name__ == "__main__":
    main()

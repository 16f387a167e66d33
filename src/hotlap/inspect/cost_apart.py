"""What a call costs, counted in a process of its own: a file can be made so that counting never ends."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec

from hotlap.bench.child import end_with_parent
from hotlap.bench.exchange import answer_and_end
from hotlap.bench.process import ask, temporary_folder
from hotlap.errors import TargetFailed
from hotlap.model.cost import Cost, count_cost
from hotlap.model.graph import load_graph

__all__ = ["cost_of"]

SECONDS = 30.0
"""The largest of our real models takes one and a half."""


class Request(msgspec.Struct, kw_only=True):
    """What to count (JSON).

    Attributes:
        model: the .onnx file.
        sizes: as for `hotlap.model.cost.count_cost`.
        cost: the file to write the `Cost` to (JSON).
        outcome: the file to write the `Outcome` to.
    """

    model: str
    sizes: dict[str, int]
    cost: str
    outcome: str


def cost_of(path: Path, sizes: Mapping[str, int] | None = None, seconds: float = SECONDS) -> Cost:
    """What a call of a model costs. What cannot be told is None, with the reason.

    Args:
        path: the .onnx file; its external weights are not read.
        sizes: symbol, or ``input[axis]`` of an axis without one, to a size that is known to work.
        seconds: after which counting is given up.

    Raises:
        StorageError: no room for the temporary files.
    """
    with temporary_folder() as folder:
        request = Request(
            model=str(path.absolute()),
            sizes=dict(sizes or {}),
            cost=str(folder / "cost"),
            outcome=str(folder / "outcome"),
        )
        try:
            ask(__name__, request, folder, "counting what a call costs", seconds)
        except TargetFailed as error:
            return Cost(why=str(error))
        return msgspec.json.decode((folder / "cost").read_bytes(), type=Cost)


def answer(request: Request) -> None:
    """In the child: counts, and writes what was counted."""
    cost = count_cost(load_graph(Path(request.model)), request.sizes)
    Path(request.cost).write_bytes(msgspec.json.encode(cost))


def main() -> None:
    request = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Request)
    end_with_parent()
    answer_and_end(partial(answer, request), request.outcome)


if __name__ == "__main__":
    main()

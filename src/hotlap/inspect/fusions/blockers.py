"""What keeps ORT from fusing a pattern: the kinds, and how each is found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from hotlap.inspect.fusions.graph import Graph, Step
from hotlap.inspect.fusions.pattern import Link
from hotlap.model.walk import Node, Scope

__all__ = ["Blocked", "Blocker", "Kind", "along", "not_constant", "wrong_dtype"]

Kind = Literal[
    "second reader",
    "graph output in between",
    "non-constant weight",
    "wrong dtype",
    "shape operator in between",
    "opset too low",
    "opset too high",
    "written in another way",
]


_SHAPE_AFTER = "let Shape read the fused result: its shape is the same"
_OUT_OF_INPUTS = "hotlap optimize MODEL --fix HL404 -o OUT.onnx"


@dataclass(frozen=True, slots=True)
class Blocker:
    """One thing that keeps a pattern from being fused.

    Attributes:
        kind: which.
        why: the same with names: ``Neg "n" reads "c" too``.
        value: the value to blame; "" where none is.
        mend: what to do about this very one, where that is more than the kind tells.
    """

    kind: Kind
    why: str
    value: str = ""
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A pattern that the executed graph still holds unfused.

    Attributes:
        node: the node of the file to blame: the one that would take the others in.
        pattern: the nodes in a few words: ``Conv "c" and Relu "r"``.
        blockers: the first thing that blocks first; none: not told.
        steps: operators that run where one would.
    """

    node: Node
    pattern: str
    blockers: tuple[Blocker, ...]
    steps: int


def along(graph: Graph, links: Iterable[Link], besides: Collection[str] = ()) -> Iterator[Blocker]:
    """What blocks at the values of a pattern, in the order of the links.

    Args:
        graph: where the pattern is.
        links: its values.
        besides: operators that may read them without harm.
    """
    for link in links:
        yield from _at(graph, link.made, link.crossed[:1] or link.users, besides)
        for number, step in enumerate(link.crossed, 1):
            why = f"{step.label} stands in between"
            yield Blocker("shape operator in between", why, link.made.value)
            yield from _at(graph, step, link.crossed[number : number + 1] or link.users, besides)


def _at(graph: Graph, step: Step, users: Collection[Step], besides: Collection[str]) -> Iterator[Blocker]:
    if name := graph.is_output(step):
        also = "" if name == step.value else f' under the name "{name}"'
        why = f'the graph gives "{step.value}" out{also}'
        yield Blocker("graph output in between", why, step.value)
    others = [r for r in graph.readers(step) if r not in users and r.op not in besides]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        verb = "reads" if len(others) == 1 else "read"
        why = f'{others[0].label}{more} {verb} "{step.value}" too'
        shape_alone = all(r.op == "Shape" for r in others)
        yield Blocker("second reader", why, step.value, _SHAPE_AFTER if shape_alone else "")


def not_constant(graph: Graph, scope: Scope, values: Collection[str]) -> Iterator[Blocker]:
    """Of values that must be weights: those that a caller or another node may change."""
    for value in values:
        if not value or graph.walk.is_constant(scope, value):
            continue
        home = graph.walk.home(scope, value)
        maker = graph.maker(scope, value)
        mend = ""
        if home is not None and value in home.weights:
            why, mend = f'"{value}" is a weight and an input, so a caller may replace it', _OUT_OF_INPUTS
        elif maker is not None:
            why = f'"{value}" is computed by {maker.label}'
        else:
            why = f'"{value}" is an input'
        yield Blocker("non-constant weight", why, value, mend)


def wrong_dtype(steps: Iterable[Step], dtype: str, taken: Collection[str]) -> Iterator[Blocker]:
    """A type that the fused operator is not made for; "" is unknown and passes."""
    if any(step.half for step in steps):
        yield Blocker("wrong dtype", "it is float16, which the CPU computes in float32 between casts")
    elif dtype and dtype not in taken:
        yield Blocker("wrong dtype", f"it is {dtype}, the fused operator takes {' or '.join(taken)}")

"""Gelu written out with Erf, and its relatives ``x * sigmoid(x)`` (SiLU) and ``x * sigmoid(1.702 x)``."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hotlap.inspect.fusions.blockers import Blocked, Blocker, along, not_constant, wrong_dtype
from hotlap.inspect.fusions.graph import Graph, Step
from hotlap.inspect.fusions.pattern import SHAPE_OPS, Link, after, before, other
from hotlap.inspect.fusions.running import Running
from hotlap.model.constants import scalar

__all__ = ["gelu"]

_CLOSE = 1e-3


def gelu(run: Running) -> Iterator[Blocked]:
    """Gelus that still stand in the executed graph in parts."""
    for erf in run.executed.nodes("Erf"):
        yield from _erf(run, erf)
    for sigmoid in run.executed.nodes("Sigmoid"):
        yield from _sigmoid(run, sigmoid)


def _erf(run: Running, erf: Step) -> Iterator[Blocked]:
    """0.5 * x * (1 + erf(x / sqrt 2)), its two products in any order."""
    graph = run.executed
    scaled = before(graph, erf, 0, ("Div", "Mul"))
    added = after(graph, erf, "Add")
    first = after(graph, added.users[0], "Mul") if added else None
    blamed = run.node(erf)
    if scaled is None or added is None or first is None or blamed is None:
        return
    x = _divided(graph, scaled.made)
    one = _beside(added)
    if x is None or not _is(graph, erf, one, 1.0):
        return
    ends = _ends(graph, first, x)
    if ends is None:
        return
    links, half, odd = ends
    last = links[-1].users[0]
    chain = [scaled, added, *links]
    steps = list(dict.fromkeys(s for ln in chain for s in (ln.made, *ln.crossed, *ln.users)))
    constants = [(scaled.made, other(scaled.made, x)), (added.users[0], one), half]
    found = [*wrong_dtype(steps, "", ()), *along(graph, chain)]
    found += [b for step, value in constants for b in not_constant(graph, step.scope, [value])]
    if scaled.made.op == "Mul":
        odd.insert(
            0, f"{scaled.made.label} multiplies by 1/sqrt(2), where ORT looks for a division by sqrt(2)"
        )
    found += [Blocker("written in another way", why) for why in odd]
    yield Blocked(
        blamed, f'the Gelu around {blamed.label} that makes "{last.value}"', tuple(found), len(steps)
    )


def _divided(graph: Graph, step: Step) -> str | None:
    """What is scaled by 1/sqrt(2), by a division or a product."""
    if step.op == "Div":
        return step.inputs[0] if _is(graph, step, step.inputs[1], math.sqrt(2)) else None
    found = [v for v in step.inputs if not _is(graph, step, v, 1 / math.sqrt(2))]
    return found[0] if len(found) == 1 else None


def _ends(graph: Graph, first: Link, x: str) -> tuple[list[Link], tuple[Step, str], list[str]] | None:
    """The two products after ``1 + erf``: their links, the 0.5, and what is odd about their order."""
    product = first.users[0]
    beside = _beside(first)
    maker = graph.maker(product.scope, beside)
    if maker is not None and maker.op == "Mul" and x in maker.inputs:  # (x * 0.5) * (1 + erf)
        half = other(maker, x)
        fits = _is(graph, maker, half, 0.5)
        return ([Link(maker, (product,)), first], (maker, half), []) if fits else None
    second = after(graph, product, "Mul")
    if second is None:
        return None
    rest = _beside(second)
    if _behind(graph, product, beside) == x and _is(graph, second.users[0], rest, 0.5):
        return [first, second], (second.users[0], rest), []
    if _is(graph, product, beside, 0.5) and _behind(graph, second.users[0], rest) == x:
        why = f"{product.label} halves 1 + erf before x comes in; ORT looks for x * 0.5 or x * (1 + erf)"
        return [first, second], (product, beside), [why]
    return None


def _sigmoid(run: Running, sigmoid: Step) -> Iterator[Blocked]:
    """x * sigmoid(x), x * sigmoid(a * x)."""
    graph = run.executed
    product = after(graph, sigmoid, "Mul")
    blamed = run.node(sigmoid)
    if product is None or blamed is None:
        return
    x = _behind(graph, product.users[0], _beside(product))
    scaled = graph.maker(sigmoid.scope, sigmoid.inputs[0])
    inner: list[Link] = []
    if sigmoid.inputs[0] != x:
        if scaled is None or scaled.op != "Mul" or x not in scaled.inputs:
            return
        if scalar(graph.walk.constant(scaled.scope, other(scaled, x))) is None:
            return
        inner = [Link(scaled, (sigmoid,))]
    chain = [*inner, product]
    steps = list(dict.fromkeys(s for ln in chain for s in (ln.made, *ln.crossed, *ln.users)))
    found = (*wrong_dtype(steps, "", ()), *along(graph, chain))
    last = product.users[0]
    yield Blocked(blamed, f'{blamed.label} and the product "{last.value}"', found, len(steps))


def _beside(link: Link) -> str:
    """The input of a link's user that does not come over the link."""
    via = link.crossed[-1] if link.crossed else link.made
    return other(link.users[0], via.output)


def _behind(graph: Graph, step: Step, value: str) -> str:
    """The value behind shape operators."""
    found = graph.maker(step.scope, value)
    while found is not None and found.op in SHAPE_OPS and found.inputs:
        value = found.inputs[0]
        found = graph.maker(found.scope, value)
    return value


def _is(graph: Graph, step: Step, value: str, wanted: float) -> bool:
    """Whether a value is that number; also where a caller may put another in its place."""
    home = graph.walk.home(step.scope, value)
    if home is None:
        return False
    number = (
        scalar(home.weights.get(value)) if value in home.weights else scalar(graph.walk.constant(home, value))
    )
    return number is not None and abs(number - wanted) <= _CLOSE * abs(wanted)

"""HL408: an `If` whose condition never changes."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.walk import Scope, Walk

RULE = Rule(code="HL408", name="dead-branch", title="A branch that is never taken", severity="warning")
_RANDOM = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli",
                     "Multinomial"})  # fmt: skip
_DEEPEST = 50


def find(case: Case) -> Iterator[Finding]:
    known: dict[tuple[int, str], bool] = {}
    for node in case.walk.nodes("If"):
        condition = node.inputs[0] if node.inputs else ""
        if condition and _fixed(case.walk, node.scope, condition, known):
            inside = sum(len(graph.node) for _, graph in node.subgraphs())
            yield RULE.found(
                f'its condition "{condition}" is constant: one of its two branches is never taken',
                node=node.label,
                tensor=condition,
                cost=f"{inside} nodes in both branches, sorted out again at each load",
                fix=RULE.mend,
            )


def _fixed(walk: Walk, scope: Scope, value: str, known: dict[tuple[int, str], bool], deep: int = 0) -> bool:
    """Whether a value is a constant, or follows from constants alone; `known` is what was found before."""
    home = walk.home(scope, value)
    if home is None or walk.is_constant(home, value):
        return home is not None
    maker, key = home.makers.get(value), (id(home), value)
    if maker is None or deep > _DEEPEST or maker.op in _RANDOM or maker.from_caller:
        return False
    if any(True for _ in maker.subgraphs()):
        return False
    if key not in known:
        known[key] = False  # for a value that hangs on itself
        given = [name for name in maker.inputs if name]
        known[key] = bool(given) and all(_fixed(walk, home, name, known, deep + 1) for name in given)
    return known[key]

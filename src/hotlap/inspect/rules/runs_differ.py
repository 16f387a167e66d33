"""HL105: equal inputs give different answers."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.case import Case
from hotlap.inspect.finding import Finding, Rule
from hotlap.model.constants import constant
from hotlap.model.walk import Node

RULE = Rule(
    code="HL105",
    name="runs-differ",
    title="Equal runs give different answers",
    severity="warning",
    needs="run",
)

_RANDOM = (
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
    "com.microsoft.Sampling",
)  # fmt: skip


def find(case: Case) -> Iterator[Finding]:
    facts = case.ran.facts if case.ran else None
    if facts is None or facts.repeats != "differ":
        return
    drawn = [*case.walk.nodes(*_RANDOM), *(n for n in case.walk.nodes("Dropout") if _trains(case, n))]
    share = f" by up to {facts.repeats_by:.1g} of the output's range" if facts.repeats_by else ""
    if drawn:
        more = f" and {len(drawn) - 1} more" if len(drawn) > 1 else ""
        yield RULE.found(
            f"equal runs differ{share}: {drawn[0].label}{more} draws random numbers",
            severity="info",
            node=drawn[0].label,
            fix="export again with eval()" if drawn[0].op == "Dropout" else "",
        )
        return
    yield RULE.found(
        f"equal runs differ{share}, and no operator draws random numbers",
        fix="run with one thread, or set use_deterministic_compute, and compare again",
    )


def _trains(case: Case, node: Node) -> bool:
    """Whether a ``Dropout`` may drop: its third input is there, and is not constantly false."""
    mode = node.inputs[2] if len(node.inputs) > 2 else ""
    if not mode:
        return False
    numbers = constant(case.walk, node.scope, mode)
    return numbers is None or bool(numbers.any())

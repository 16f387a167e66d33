from __future__ import annotations

from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.fusions import Blocked, Blocker, tell
from hotlap.inspect.fusions.telling import EACH
from hotlap.model.walk import Walk
from tests import tiny
from tests.tiny import T, info, node

RULE = Rule(code="HL599", name="made-up", title="Made up", severity="warning", needs="run")


def places(count: int, *blockers: Blocker, steps: int = 2) -> list[Blocked]:
    chain = [node("Relu", [f"v{i}"], [f"v{i + 1}"], name=f"r{i}") for i in range(count)]
    model = tiny.model(chain, [info("v0", T.FLOAT, ["n"])], [info(f"v{count}", T.FLOAT, None)])
    return [Blocked(n, f"the place {n.label}", blockers, steps) for n in Walk(model).root.nodes]


def test_a_place_is_one_finding() -> None:
    reader = Blocker("second reader", 'Neg "n" reads "c" too', "c")
    (found,) = tell(RULE, "one thing", places(1, reader))
    assert found == Finding(
        code="HL599",
        severity="warning",
        message='The place Relu "r0" did not become one thing: second reader: Neg "n" reads "c" too',
        node='Relu "r0"',
        tensor="c",
        cost="2 operators run where one would",
        fix="let the second reader take the fused result, or do without it",
    )


def test_further_blockers_are_named_by_kind() -> None:
    first, second = Blocker("wrong dtype", "it is float16"), Blocker("second reader", "…", "c")
    (found,) = tell(RULE, "one thing", places(1, first, second, second))
    assert found.message.endswith("wrong dtype: it is float16 (then also: second reader)")


def test_one_that_nothing_explains_is_said_to_be_so_as_information() -> None:
    (found,) = tell(RULE, "one thing", places(1))
    assert found.severity == "info"
    assert found.message.endswith("what blocked it is not told: none of the known reasons holds")
    assert (found.tensor, found.fix) == ("", "")


def test_the_fix_is_the_blockers_own_or_the_command_that_gets_around_it() -> None:
    own = Blocker("second reader", "…", "c", mend="do this")
    assert [f.fix for f in tell(RULE, "one thing", places(1, own))] == ["do this"]
    (found,) = tell(RULE, "one thing", places(1, own), ["second reader"])
    assert found.fix == "hotlap optimize MODEL --fix HL599 -o OUT.onnx"


def test_only_the_first_are_told_one_by_one() -> None:
    found = list(tell(RULE, "one thing", places(EACH + 3, Blocker("second reader", "…"), steps=4)))
    assert len(found) == EACH + 1
    assert found[-1] == Finding(
        code="HL599",
        severity="warning",
        message="3 more places did not become one thing: second reader (3)",
        cost="9 operators more than fused",
    )
    assert len(list(tell(RULE, "one thing", places(EACH)))) == EACH
    last = list(tell(RULE, "one thing", places(EACH + 1)))[-1]
    assert last.message == "1 more place did not become one thing: not told (1)"
    assert last.severity == "info"


def test_a_node_is_blamed_once() -> None:
    assert len(list(tell(RULE, "one thing", places(1) * 3))) == 1


def test_nothing_blocked_is_nothing_told() -> None:
    assert list(tell(RULE, "one thing", [])) == []

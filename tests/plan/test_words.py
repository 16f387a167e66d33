from __future__ import annotations

from typing import Any

import pytest

from hotlap.errors import PlanError
from hotlap.plan import External
from hotlap.plan.words import as_struct, as_type, complaint, dotted


def test_keys_that_toml_quotes_are_quoted() -> None:
    assert dotted("session", "session.x") == 'session."session.x"'
    assert dotted("warm[0]", "input-ids", "é") == 'warm[0].input-ids."é"'


@pytest.mark.parametrize(
    ("value", "kind", "right"),
    [
        ({"a": [1, 2]}, dict[str, tuple[int, ...]], {"a": (1, 2)}),
        (1, float, 1.0),
        (None, int | None, None),
        (object, Any, object),
        ((External(size=1, digest="d"),), tuple[External, ...], (External(size=1, digest="d"),)),
    ],
)
def test_right_types_pass(value: Any, kind: Any, right: Any) -> None:
    assert as_type(value, kind, "k") == right


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        ("x", dict[str, int], 'k: expected a table, got the text "x"'),
        ({1: 1}, dict[str, int], "k: expected a table, got a table"),
        (
            {"a": {"b.c": "x"}},
            dict[str, dict[str, int]],
            'k.a."b.c": expected a whole number, got the text "x"',
        ),
        ("ab", tuple[str, ...], 'k: expected a list, got the text "ab"'),
        ([1, None], tuple[int, ...], "k[1]: expected a whole number, got nothing"),
        (True, int | None, "k: expected a whole number, got true"),
        (1, bool, "k: expected true or false, got the number 1"),
    ],
)
def test_wrong_types_are_told_in_a_plans_words(value: Any, kind: Any, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        as_type(value, kind, "k")
    assert str(caught.value) == said


def test_a_table_becomes_a_struct() -> None:
    assert as_struct({"size": 1, "digest": "d"}, External, "k") == External(size=1, digest="d")
    with pytest.raises(
        PlanError, match=r'k\.sise: unknown key \(did you mean "size"\?\); known: size, digest'
    ):
        as_struct({"sise": 1}, External, "k")


def test_bounds_are_told_in_words() -> None:
    assert complaint("Expected `int | null` >= 0 - at `$.x`", -1, "k") == (
        "k: expected a whole number of at least 0, got the number -1"
    )

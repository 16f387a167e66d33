from __future__ import annotations

import pytest

from hotlap.errors import InputError
from hotlap.wire.problems import Problems, shown


def test_no_problems_raise_nothing() -> None:
    Problems().check()


def test_each_problem_is_one_line() -> None:
    problems = Problems()
    problems.add("a")
    problems.add("b")
    with pytest.raises(InputError) as caught:
        problems.check()
    assert caught.value.problems == ["a", "b"]


def test_many_problems_are_counted_not_told() -> None:
    problems = Problems()
    for number in range(1000):
        assert problems.full is (number >= 64)
        problems.add(str(number))
    with pytest.raises(InputError) as caught:
        problems.check()
    assert caught.value.problems == [*map(str, range(64)), "and 936 more problems"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("x", '"x"'), ("ü", '"ü"'), ("a\nb", '"a\\nb"'), ("x" * 100, '"' + "x" * 80 + '…"')],
)
def test_a_name_stays_on_one_short_line(name: str, text: str) -> None:
    assert shown(name) == text

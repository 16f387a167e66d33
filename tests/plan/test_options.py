from __future__ import annotations

import math
from typing import Any

import pytest

from hotlap.errors import PlanError
from hotlap.plan.options import Option, inside, named

BOOL = Option("b", "bool", "")
INT = Option("i", "int", "", low=1, high=64)
FLOAT = Option("f", "float", "", low=0)
ENUM = Option("e", "enum", "", values=("fast", "slow"))
FEW = Option("n", "int", "", values=(0, 1, 2))
LIKE = Option("s", "str", "", pattern=r"\d+(,\d+)*", example="1,2")
PATH = Option("p", "path", "")


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        (BOOL, True, "1"),
        (BOOL, False, "0"),
        (INT, 64, "64"),
        (FLOAT, 0.5, "0.5"),
        (FLOAT, 2, "2"),
        (ENUM, "fast", "fast"),
        (FEW, 2, "2"),
        (LIKE, "3,4", "3,4"),
        (PATH, "a/b.csv", "a/b.csv"),
    ],
)
def test_right_values_become_orts_texts(option: Option, value: Any, text: str) -> None:
    assert option.text(option.check(value, "k")) == text


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        (BOOL, "1", 'k: expected true or false, got the text "1"'),
        (BOOL, 1, "k: expected true or false, got the number 1"),
        (INT, 0, "k: expected a whole number from 1 to 64, got the number 0"),
        (INT, "4", 'k: expected a whole number from 1 to 64, got the text "4"'),
        (INT, True, "k: expected a whole number from 1 to 64, got true"),
        (INT, 2.0, "k: expected a whole number from 1 to 64, got the number 2.0"),
        (FLOAT, math.inf, "k: expected a number of 0 or more, got the number inf"),
        (FLOAT, False, "k: expected a number of 0 or more, got false"),
        (ENUM, "fst", 'k: expected one of "fast", "slow", got the text "fst" (did you mean "fast"?)'),
        (FEW, 3, "k: expected one of 0, 1, 2, got the number 3"),
        (FEW, True, "k: expected one of 0, 1, 2, got true"),
        (LIKE, "3,", 'k: expected a text such as "1,2", got the text "3,"'),
        (LIKE, "3\n", r'k: expected a text such as "1,2", got the text "3\n"'),
        (PATH, None, "k: expected a text, got nothing"),
        (PATH, "/etc/passwd", 'k: expected a relative file name without "..", got the text "/etc/passwd"'),
    ],
)
def test_wrong_values_are_told(option: Option, value: Any, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        option.check(value, "k")
    assert str(caught.value) == said


@pytest.mark.parametrize("path", ["a", "a/b", "a.b/c d", "./a", ".hidden", "é"])
def test_paths_inside_pass(path: str) -> None:
    inside(path, "k")


@pytest.mark.parametrize(
    "path", ["", "./", "..", "../a", "a/../b", "/a", "\\a", "C:a", "C:/a", "//h/s/a", "a\\..\\b"]
)
def test_paths_that_lead_out_are_refused_on_every_system(path: str) -> None:
    with pytest.raises(PlanError, match="expected a relative file name"):
        inside(path, "k")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "true"),
        ("é\x00", r'the text "é\x00"'),
        ("a" * 99, 'the text "' + "a" * 57 + '…"'),
        (10**30, "the number 1e+30"),
        (2.0, "the number 2.0"),
        ({}, "a table"),
        ((), "a list"),
        (None, "nothing"),
        (b"", "a bytes"),
    ],
)
def test_values_have_words(value: Any, words: str) -> None:
    assert named(value) == words

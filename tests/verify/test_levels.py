from __future__ import annotations

import pytest

from hotlap.errors import UsageError
from hotlap.verify import LEVELS
from hotlap.verify.levels import COSINE, NEAR, NEAR_SHARE, NOISE_FACTOR, level_asked, level_named
from hotlap.verify.metric import Change
from hotlap.verify.task import decided


def test_there_are_three_levels_and_their_words_hold_their_numbers() -> None:
    assert list(LEVELS) == ["exact", "close", "task"]
    assert all(name == level.name for name, level in LEVELS.items())
    assert f"{NOISE_FACTOR:g} times" in LEVELS["exact"].agrees
    assert all(text in LEVELS["close"].agrees for text in (f"{NEAR_SHARE:.1%}", f"{NEAR:.0%}", str(COSINE)))


def test_the_words_say_that_the_same_answers_pass_where_a_metric_cannot_tell() -> None:
    assert "answers that are `exact` pass" in LEVELS["task"].agrees
    drop = Change(before=1.0, after=1.0, low=None, high=None, count=1, per="input")
    assert decided(drop, 0.0, lambda: True).passed and not decided(drop, 0.0, lambda: False).passed


def test_only_exact_takes_generated_inputs() -> None:
    assert [level.name for level in LEVELS.values() if "generated" in level.data] == ["exact"]


def test_a_level_that_is_not_there_is_refused_with_the_nearest() -> None:
    assert level_named("close") == "close"
    with pytest.raises(UsageError, match=r'no level "exakt" .did you mean "exact".*; there are exact, close'):
        level_named("exakt")


def asked(level: str | None = None, given: bool = True, *what: str, otherwise: str = "exact") -> str:
    names = ("metric", "max_drop", "labels")
    return level_asked(level, given=given, otherwise=otherwise, **{name: name in what for name in names})


@pytest.mark.parametrize(
    ("level", "given", "what", "otherwise", "meant"),
    [
        (None, False, (), "exact", "exact"),
        (None, True, (), "close", "close"),
        (None, True, ("metric", "max_drop"), "close", "task"),
        (None, True, ("metric", "max_drop", "labels"), "exact", "task"),
        ("exact", True, (), "close", "exact"),
        ("task", True, ("metric", "max_drop"), "exact", "task"),
    ],
)
def test_the_level_that_is_meant(
    level: str | None, given: bool, what: tuple[str, ...], otherwise: str, meant: str
) -> None:
    assert asked(level, given, *what, otherwise=otherwise) == meant


@pytest.mark.parametrize(
    ("level", "given", "what", "said"),
    [
        (None, True, ("metric",), "how much may the metric drop"),
        ("task", True, ("metric",), "how much may the metric drop"),
        ("task", True, (), '"task" is about a metric of yours'),
        (None, True, ("max_drop",), "--max-drop says how much a metric may drop"),
        ("close", True, ("max_drop",), "--max-drop says how much a metric may drop"),
        (None, True, ("labels",), "--labels are for a metric"),
        ("close", True, ("metric", "max_drop"), '"close" would not ask it'),
        ("exact", True, ("metric", "max_drop"), '"exact" would not ask it'),
        (None, False, ("metric", "max_drop"), "a metric needs your data"),
        ("close", False, (), '"close" judges on your data alone'),
        ("clse", True, (), 'no level "clse"'),
    ],
)
def test_what_cannot_be_judged_or_would_be_left_out_is_refused(
    level: str | None, given: bool, what: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        asked(level, given, *what)

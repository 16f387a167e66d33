from __future__ import annotations

import pytest

from hotlap.errors import UsageError
from hotlap.verify import LEVELS
from hotlap.verify.levels import COSINE, NEAR, NEAR_SHARE, NOISE_FACTOR, level_named


def test_there_are_three_levels_and_their_words_hold_their_numbers() -> None:
    assert list(LEVELS) == ["exact", "close", "task"]
    assert all(name == level.name for name, level in LEVELS.items())
    assert f"{NOISE_FACTOR:g} times" in LEVELS["exact"].agrees
    assert all(text in LEVELS["close"].agrees for text in (f"{NEAR_SHARE:.1%}", f"{NEAR:.0%}", str(COSINE)))


def test_only_exact_takes_generated_inputs() -> None:
    assert [level.name for level in LEVELS.values() if "generated" in level.data] == ["exact"]


def test_a_level_that_is_not_there_is_refused_with_the_nearest() -> None:
    assert level_named("close") == "close"
    with pytest.raises(UsageError, match=r'no level "exakt" .did you mean "exact".*; there are exact, close'):
        level_named("exakt")

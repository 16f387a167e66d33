from __future__ import annotations

from hotlap.verify import LEVELS
from hotlap.verify.levels import COSINE, NEAR, NEAR_SHARE, NOISE_FACTOR


def test_there_are_three_levels_and_their_words_hold_their_numbers() -> None:
    assert list(LEVELS) == ["exact", "close", "task"]
    assert all(name == level.name for name, level in LEVELS.items())
    assert f"{NOISE_FACTOR:g} times" in LEVELS["exact"].agrees
    assert all(text in LEVELS["close"].agrees for text in (f"{NEAR_SHARE:.1%}", f"{NEAR:.0%}", str(COSINE)))


def test_only_exact_takes_generated_inputs() -> None:
    assert [level.name for level in LEVELS.values() if "generated" in level.data] == ["exact"]

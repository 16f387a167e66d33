from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.errors import UsageError
from hotlap.verify.source import FeedSource


def source(tmp_path: Path, body: str, **changes: int) -> FeedSource:
    name = f"feeds_{abs(hash(body)) % 10**8}"
    (tmp_path / f"{name}.py").write_text(body)
    return FeedSource(function=f"{name}:make", folder=str(tmp_path), **changes)


def test_feeds_come_one_by_one_and_an_endless_source_is_cut(tmp_path: Path) -> None:
    body = "def make():\n    n = 0\n    while True:\n        n += 1\n        yield {'x': [n]}\n"
    assert [f["x"].tolist() for f in source(tmp_path, body, most=3).feeds()] == [[1], [2], [3]]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def make():\n    return [[1]]\n", "feed 0 is list, no dict of name to array"),
        ("def make():\n    yield {}\n    raise KeyError('data')\n", "KeyError: 'data'"),
        ("make = 3\n", "'int' object is not callable"),
        ("", "has no make"),
    ],
)
def test_a_source_that_fails_says_how(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        list(source(tmp_path, body).feeds())

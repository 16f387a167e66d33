"""What holds for all tests."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says something of the machine alone: the first text that is ever drawn in a
# working folder takes seconds, for tables of characters are made and kept.
# Where a change is judged the examples are the same each time, as in hypothesis's own profile for it: chance
# is no reason to turn one down. On a desk they are new ones.
settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("untimed")


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """pytest's own, from the level that a program begins with: whatever ran before may have set another, for
    the command line and the server set the levels of whole processes."""
    ours = [logging.getLogger(n) for n in (*logging.root.manager.loggerDict, "hotlap") if _is_ours(n)]
    before = {logger: logger.level for logger in (logging.root, *ours)}
    for logger in ours:
        logger.setLevel(logging.NOTSET)
    logging.root.setLevel(logging.WARNING)
    yield caplog
    for logger, level in before.items():
        logger.setLevel(level)


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == "hotlap"

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


@pytest.fixture(autouse=True)
def log_levels() -> Iterator[None]:
    """The command line and the server set the levels of whole processes: each test finds, and leaves, those
    that a program begins with."""
    yield
    _reset()


@pytest.fixture
def caplog(log_levels: None, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """pytest's own, from those levels: what sets up a whole module may have set others."""
    _reset()
    return caplog


def _reset() -> None:
    for name in (*logging.root.manager.loggerDict, "hotlap"):
        if _is_ours(name):
            logging.getLogger(name).setLevel(logging.NOTSET)
    logging.root.setLevel(logging.WARNING)


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == "hotlap"

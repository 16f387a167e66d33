"""Children's work in this process, for tests that need no crash: a process for each costs up to a second."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hotlap.bench.exchange import Outcome
from hotlap.errors import HotlapError, TargetFailed
from hotlap.inspect import child as inspecting
from hotlap.inspect import evidence
from hotlap.passes import tools
from hotlap.verify import child as verifying
from hotlap.verify import sides

WORK: Mapping[str, tuple[type[Any], Callable[[Any], None]]] = {
    tools.CHILD: (tools.Job, tools.work),
    sides.CHILD: (verifying.Request, verifying.answer),
    evidence.CHILD: (inspecting.Request, inspecting.answer),
}


@contextmanager
def own_modules() -> Iterator[None]:
    """What a process of its own would forget: the folders that it imports from, and views imported there."""
    folders = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = folders
        for name in [name for name in sys.modules if name.startswith("hotlap_view_")]:
            del sys.modules[name]


def ask_here(module: str, request: Any, folder: Path, label: str, allowed: float) -> Outcome:
    kind, work = WORK[module]
    copied = msgspec.json.decode(msgspec.json.encode(request), type=kind)  # what really crosses the border
    try:
        with warnings.catch_warnings(), own_modules():
            warnings.simplefilter("ignore")  # other people's
            work(copied)
    except HotlapError as error:
        raise TargetFailed(f"{label}: {error}") from error
    return Outcome(done=True)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools in this process."""
    monkeypatch.setattr(tools, "ask", ask_here)


@pytest.fixture
def all_here(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verifying and inspecting as well, where what they run is known not to crash."""
    monkeypatch.setattr(sides, "ask", ask_here)
    monkeypatch.setattr(evidence, "ask", ask_here)

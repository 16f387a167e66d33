"""Servers that read many requests in one turn of their event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from hotlap.plan import Facts
from hotlap.runtime import FakeRunner
from hotlap.serve.http import turn
from hotlap.serve.inline import TOGETHER
from hotlap.serve.pays import Curve, Pays
from hotlap.serve.served import Served
from hotlap.serve.serving import Server
from tests.serve.http.wired import Client, Serving, doubled, infer, model, post, until

ROWS = Facts(rows="independent", axes={"x": 0, "y": 0})


def short(answer: Any = doubled, facts: Facts = ROWS, **more: Any) -> Served:
    """A model that runs on the loop, and whose rows may share a call."""
    served = model(answer, inline=True, **more)
    served.facts = facts
    return served


@contextmanager
def together(
    start: Serving, served: Served, *, patience: int = 10**12, slow: float = 1e9, **more: Any
) -> Iterator[Server]:
    """A server to which any number of rows pays, however short its measuring was.

    Args:
        patience: of its turns, ns; slow: seconds that calls on the loop may take. By themselves no machine is
            too slow.
    """
    with mock.patch.object(turn, "PATIENCE", patience), start(served, **more) as server:
        track = server.engine._tracks[served]
        track._pays = Pays(Curve(16, {2**n: 1.0 for n in range(7)}))
        served.together = TOGETHER
        track._inline._slow = slow
        if isinstance(served.runner, FakeRunner):
            served.runner.calls.clear()
        yield server


@contextmanager
def halted(server: Server, first: Callable[[], object] = lambda: None) -> Iterator[None]:
    """The event loop does `first`, then stands still: what is sent meanwhile it reads in one turn."""
    assert server._loop is not None
    begun, go = threading.Event(), threading.Event()

    def stand() -> None:
        first()
        begun.set()
        assert go.wait(20)

    server._loop.call_soon_threadsafe(stand)
    assert begun.wait(20)
    try:
        yield
    finally:
        go.set()


def at_once(server: Server, asking: Sequence[Client]) -> None:
    """Each client asks for its own number, and the loop reads all of them in one turn."""
    with halted(server):
        for n, client in enumerate(asking):
            client.send(post(infer(float(n))))


@contextmanager
def clients(server: Server, count: int) -> Iterator[list[Client]]:
    with ExitStack() as stack:
        made = [stack.enter_context(Client(server)) for _ in range(count)]
        until(lambda: len(server._front.connections) >= count)
        yield made

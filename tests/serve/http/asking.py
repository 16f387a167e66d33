"""Asks the addresses beside inference as a connection would, without a socket."""

from __future__ import annotations

import json
from typing import Any

from hotlap.errors import HotlapError
from hotlap.plan import Facts
from hotlap.runtime import FakeRunner
from hotlap.serve.engine import Engine
from hotlap.serve.http import admin
from hotlap.serve.http.respond import Reply, refusal
from hotlap.serve.http.routes import Table
from hotlap.serve.served import Served
from hotlap.serve.shared import SharedMemory
from hotlap.tensors import TensorSpec

X = TensorSpec.of("x", "float32", ["n", 16])
Y = TensorSpec.of("y", "float32", ["n", 4])


class Asking:
    """A server of the models "m" (its rows are independent) and "n" (nothing is known of it)."""

    def __init__(self, shared: SharedMemory | None = None, *others: Served) -> None:
        runner = FakeRunner([X], [Y])
        facts = Facts(rows="independent", axes={"x": 0, "y": 0})
        models = [Served(name="m", runner=runner, facts=facts), Served(name="n", version="3", runner=runner)]
        self.engine = Engine([*models, *others])
        self.shared = shared or SharedMemory()
        self._table = Table(admin.routes(self.shared))

    def reply(self, method: str, path: str, body: bytes = b"") -> Reply:
        try:
            route, match = self._table.find(method, path.encode())
            assert route.handler is not None
            return route.handler(self.engine, match, memoryview(body), {})
        except HotlapError as error:
            return refusal(error)

    def get(self, path: str) -> tuple[int, Any]:
        return told(self.reply("GET", path))

    def post(self, path: str, body: Any = b"") -> tuple[int, Any]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return told(self.reply("POST", path, raw))


def told(reply: Reply) -> tuple[int, Any]:
    """Status and JSON; None where there is no body."""
    text = b"".join(reply.body)
    return reply.status, json.loads(text) if text else None

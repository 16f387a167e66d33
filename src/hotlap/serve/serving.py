"""A server from its start to its end: `serve`, and `Server`."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

from hotlap.errors import MissingExtra, UsageError
from hotlap.serve.busy_poll import usual_span
from hotlap.serve.engine import Engine
from hotlap.serve.http import admin, infer
from hotlap.serve.http.connection import Connection
from hotlap.serve.http.front import Front
from hotlap.serve.http.head import load_parser
from hotlap.serve.http.limits import Limits
from hotlap.serve.http.sealed import Handshake
from hotlap.serve.listening import BACKLOG, Listener
from hotlap.serve.served import Served
from hotlap.serve.shared import SharedMemory

__all__ = ["Server", "loop_maker", "serve"]

_log = logging.getLogger("hotlap.serve")

_OTHER_FILES = 512
"""Open files besides connections: libraries, and each region of shared memory."""
_ACCEPTS = 16
"""Connections that Python's own event loop takes up at a time. Where there are no more files it says so as
often, each second."""
_LANES_END = 5.0
"""Seconds that calls may take to end once nobody waits for them any more."""


class Server:
    """Serves models over HTTP.

    Attributes:
        urls: where, one for each address; from the start on.
        engine: what runs the models.
    """

    def __init__(
        self,
        models: Sequence[Served],
        listener: Listener | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        token: str | None = None,
        limits: Limits | None = None,
        shared: SharedMemory | None = None,
        drain: float = 30.0,
        busy_poll: float | None = None,
        uvloop: bool | None = None,
    ) -> None:
        """
        Args:
            models: from `hotlap.serve.loading.load`; they are closed at the end.
            listener: where to listen; None: a free port of this machine alone.
            shared: None: clients may register shared memory where only this machine can connect.
            token: that every request must bear, but those for health; None: none is asked for.
            drain: seconds that accepted requests may take once the server is asked to end.
            busy_poll: seconds that the event loop looks for the next request, after an answer, before it
                sleeps, where requests come within them; 0: it sleeps at once. None: 0 under a quota of less
                than 2 CPUs, else 100 µs.
            uvloop: whether to run on it; None: where it is installed.

        Raises:
            MissingExtra: httptools is not installed, or uvloop, where it is asked for.
            UsageError: two models of one name, or an address that cannot be had.
        """
        load_parser()
        self._new_loop = loop_maker(uvloop)
        self.engine = Engine(models)
        self._tls, self._drain = tls, drain
        # Who cannot share memory with this machine has no use for it but to reach that of others.
        shared = shared or SharedMemory(allowed=listener is None or listener.near)
        self._front = Front(
            self.engine,
            (*admin.routes(shared), *infer.ROUTES),
            limits or Limits(),
            shared,
            token=token,
            busy_poll=usual_span() if busy_poll is None else busy_poll,
        )
        if listener is None:
            listener = Listener()
            listener.add_port("127.0.0.1", 0, tls=tls is not None)
        self._listener, self.urls = listener, listener.urls
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._asked_to_stop = False

    @property
    def url(self) -> str:
        """The first address."""
        return self.urls[0]

    # ── in this thread ────────────────────────────────────────────────────────────────────────────────

    def run(self, ready: Callable[[], None] | None = None, *, signals: bool = False) -> None:
        """Serves until `stop` is called.

        Args:
            ready: called once every model is warm.
            signals: SIGTERM and SIGINT stop the server too; the second one ends the process at once. For the
                main thread.

        Raises:
            HotlapError: a model could not be warmed.
        """
        with asyncio.Runner(loop_factory=self._new_loop) as runner:
            runner.run(self._main(ready, signals))

    def stop(self) -> None:
        """Asks the server to answer what it has accepted and to end, or not to begin. From any thread; twice
        is fine."""
        self._asked_to_stop = True
        loop, stop = self._loop, self._stop
        if loop is not None and stop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended meanwhile
                loop.call_soon_threadsafe(stop.set)

    # ── in a thread of its own ────────────────────────────────────────────────────────────────────────

    def start(self) -> Self:
        """Serves in another thread; returns once every model is warm, or once the server has ended because
        `stop` was called before that.

        Raises:
            What `run` raises before it is ready.
        """
        if self._thread is not None:
            raise UsageError("this server has been started before: make another")
        ready = threading.Event()
        failed: list[BaseException] = []

        def work() -> None:
            try:
                self.run(ready.set)
            except BaseException as error:  # noqa: BLE001  whoever started it is told
                failed.append(error)
                if ready.is_set():
                    _log.error("the server ended", exc_info=error)
            finally:
                ready.set()

        self._thread = threading.Thread(target=work, name="hotlap-serve", daemon=True)
        self._thread.start()
        ready.wait()
        if failed:
            raise failed[0]
        return self

    def close(self) -> None:
        """`stop`, and waits for the end. Twice is fine."""
        self.stop()
        if self._thread is not None:
            self._thread.join()
        self._listener.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────

    async def _main(self, ready: Callable[[], None] | None, signals: bool) -> None:
        stop = self._stop = asyncio.Event()
        loop = self._loop = asyncio.get_running_loop()
        if self._asked_to_stop:  # whoever asks from now on finds the loop
            stop.set()
        if signals:
            _stop_at_signals(loop, stop)
        self._front.start(loop)
        listening: list[asyncio.Server] = []
        try:
            # Whoever asks for health while the models are being warmed is told that they are.
            listening += await self._listen(loop)
            warming = asyncio.ensure_future(self.engine.start())
            waiting = asyncio.ensure_future(stop.wait())
            await asyncio.wait((warming, waiting), return_when=asyncio.FIRST_COMPLETED)
            if warming.done():
                warming.result()
                if ready is not None:
                    ready()
                await waiting
                await self._leave(loop)
            warming.cancel()
        finally:
            for server in listening:
                server.close()
            self._front.stop()
            await self.engine.close(_LANES_END)
            self._listener.close()

    async def _listen(self, loop: asyncio.AbstractEventLoop) -> list[asyncio.Server]:
        front, tls = self._front, self._tls

        def connected() -> asyncio.BaseProtocol:
            return Connection(front) if tls is None else Handshake(front, tls)

        servers = []
        for sock in self._listener.sockets:
            unix = sock.family not in (socket.AF_INET, socket.AF_INET6)
            make = loop.create_unix_server if unix else loop.create_server
            servers.append(await make(connected, sock=sock, backlog=_ACCEPTS))
            sock.listen(BACKLOG)  # the event loop has just set its own number
        return servers

    async def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answers what was accepted. New requests are still heard, to be told to go elsewhere: a connection
        that is refused, or reset while it waits to be taken up, tells a client less."""
        end = loop.time() + self._drain
        self._front.turn.take_up()
        _log.log(
            logging.WARNING if self.engine.inside else logging.INFO,
            "stopping: requests still to be answered: %d; they have %g s",
            self.engine.inside,
            self._drain,
        )
        self._front.closing = True
        await self.engine.drain(self._drain)
        left = await self._front.finish(max(0.5, end - loop.time()))
        if left:
            _log.warning("%d clients did not take their answers in time", left)


def serve(
    models: Sequence[Served],
    listener: Listener,
    *,
    ready: Callable[[Server], None] | None = None,
    **more: Any,
) -> None:
    """Serves in the main thread until SIGTERM or SIGINT.

    Args:
        ready: called with the server once every model is warm.
        more: as `Server`.

    Raises:
        What `Server` and `Server.run` raise.
    """
    limits = more.pop("limits", None) or Limits()
    server = Server(models, listener, limits=_within_files(limits), **more)
    froze = False

    def warm() -> None:
        # This process does nothing else, and what is there now stays: without this each full collection would
        # walk through all of it again. What the program has frozen itself could not be told from it.
        nonlocal froze
        if not gc.get_freeze_count():
            gc.collect()
            gc.freeze()
            froze = True
        if ready is not None:
            ready(server)

    try:
        server.run(warm, signals=True)
    finally:
        if froze:
            gc.unfreeze()


def _within_files(limits: Limits) -> Limits:
    """Asks the system for as many open files as there may be connections; fewer connections where it has
    fewer. Each is a file, and without one to spare a connection would be cut before it is told why."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return limits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = limits.connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < need:
        soft = need if hard == resource.RLIM_INFINITY else min(need, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= need:
        return limits
    fewer = max(1, soft - _OTHER_FILES)
    _log.warning("%d connections at most: the system allows %d open files (ulimit -n)", fewer, soft)
    return replace(limits, connections=fewer)


def _stop_at_signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    numbers = (signal.SIGTERM, signal.SIGINT)

    def first(number: int) -> None:
        stop.set()
        _log.info("%s: stopping; once more ends the process at once", signal.Signals(number).name)
        for other in numbers:
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(other)
            signal.signal(other, signal.SIG_DFL)

    for number in numbers:
        try:
            loop.add_signal_handler(number, first, number)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda n, frame: loop.call_soon_threadsafe(first, n))


def loop_maker(uvloop: bool | None) -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the event loop.

    Args:
        uvloop: as `Server` takes it.

    Raises:
        MissingExtra: uvloop is asked for, and not installed.
    """
    if uvloop is False:
        return asyncio.new_event_loop
    try:
        made: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    except ImportError as error:
        if uvloop:
            raise MissingExtra("serve", "running on uvloop") from error
        return asyncio.new_event_loop
    return made

"""What it costs to have something done by another thread: `round_trip`."""

from __future__ import annotations

import asyncio
import statistics
import threading
from queue import SimpleQueue
from time import perf_counter

__all__ = ["round_trip"]


async def round_trip(times: int = 50) -> float:
    """The median seconds from the event loop to a thread that does nothing and back, the way that jobs go."""
    loop = asyncio.get_running_loop()
    inbox: SimpleQueue[asyncio.Future[None] | None] = SimpleQueue()

    def work() -> None:
        while (future := inbox.get()) is not None:
            loop.call_soon_threadsafe(future.set_result, None)

    thread = threading.Thread(target=work, name="hotlap-hop", daemon=True)
    thread.start()
    took = []
    try:
        for _ in range(times):
            future: asyncio.Future[None] = loop.create_future()
            begun = perf_counter()
            inbox.put(future)
            await future
            took.append(perf_counter() - begun)
    finally:
        inbox.put(None)
    return statistics.median(took)

"""A queue simulated from its definition: what an open loop must agree with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def queue(times: Sequence[float], services: Sequence[float], servers: int = 1) -> npt.NDArray[np.float64]:
    """What each request waits and is served for, first come first served.

    Args:
        times: when each arrives, seconds, ascending.
        services: how long each is served, seconds.
        servers: how many serve at once.

    Source: Kiefer and Wolfowitz, Transactions of the AMS 78 (1955): the workload vector of a G/G/c queue.
    """
    free = [0.0] * servers
    found = []
    for arrival, service in zip(times, services, strict=True):
        server = min(range(servers), key=lambda n: free[n])
        free[server] = max(arrival, free[server]) + service
        found.append(free[server] - arrival)
    return np.array(found)

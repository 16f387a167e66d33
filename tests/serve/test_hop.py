from __future__ import annotations

import threading

from hotlap.serve.hop import round_trip
from tests.serve import made


def test_a_hop_takes_time_and_leaves_no_thread() -> None:
    async def main() -> None:
        assert 0 < await round_trip(5) < 5
        await made.until(lambda: all(t.name != "hotlap-hop" for t in threading.enumerate()))

    made.run(main)

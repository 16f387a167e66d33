from __future__ import annotations

import threading

from hotlap.runtime.copies import Copies


def test_what_is_seen_is_the_callers_own() -> None:
    copies = Copies()
    copies.count("x", "cast")
    seen = copies.seen()
    copies.count("x", "cast")
    copies.count("y", "text")
    assert seen == {"x": {"cast": 1}}
    assert copies.seen() == {"x": {"cast": 2}, "y": {"text": 1}}


def test_threads_lose_no_count() -> None:
    copies = Copies()
    threads = [
        threading.Thread(target=lambda: [copies.count("x", "cast") for _ in range(5000)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert copies.seen() == {"x": {"cast": 20_000}}

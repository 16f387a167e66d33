from __future__ import annotations

import pytest

from hotlap.errors import PlanError
from hotlap.plan import Plan, Serve


def test_nothing_said_leaves_it_to_the_start() -> None:
    serve = Serve()
    assert (serve.lanes, serve.inline, serve.spin, serve.timeout) == (None, None, None, None)
    assert (serve.max_batch, serve.queue_requests, serve.queue_bytes) == (32, 512, 256 * 1024 * 1024)


@pytest.mark.parametrize(("levels", "level"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_who_asks_for_no_priority_is_in_the_middle(levels: int, level: int) -> None:
    assert Serve(priorities=levels).default_level == level


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("lanes = 0", "serve.lanes: expected a whole number from 1 to 1024, got the number 0"),
        ("lanes = true", "serve.lanes: expected a whole number, got true"),
        ("max_batch = 0", "serve.max_batch: expected a whole number from 1 to 65536, got the number 0"),
        ("queue_requests = 0", "serve.queue_requests: expected a whole number from 1 to 2147483648"),
        ("priorities = 17", "serve.priorities: expected a whole number from 1 to 16, got the number 17"),
        ("timeout = 0", "serve.timeout: expected seconds above 0, got the number 0"),
        ("timeout = inf", "serve.timeout: expected seconds above 0, got"),
        ('spin = "0us"', 'serve.spin: expected "off", "on", or a time such as "100us"'),
        ('inline = "auto"', "serve.inline: expected true or false, got the text"),
        ("lane = 2", 'serve.lane: unknown key (did you mean "lanes"?)'),
    ],
)
def test_what_cannot_be_is_refused_by_name(toml: str, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan.loads(f"[serve]\n{toml}\n")
    assert said in str(caught.value)

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.errors import Overloaded
from hotlap.serve.http.limits import Limits
from hotlap.serve.http.room import Room, aligned


def front() -> Any:
    return SimpleNamespace(bodies=0, answers=0, limits=Limits(bodies=1000, answers=500))


def test_bodies_of_all_connections_have_one_limit() -> None:
    shared = front()
    one, other = Room(shared), Room(shared)
    one.hold(600)
    assert other.overloaded(400) is None
    refused = other.overloaded(401)
    assert isinstance(refused, Overloaded) and "bodies of 600 bytes" in str(refused)
    other.hold(100)
    other.hold(400)  # the same body, further on
    assert (shared.bodies, other.held) == (1000, 400)
    assert other.overloaded(400) is None, "what it holds already is not counted twice"
    one.hold(0)
    assert shared.bodies == 400


def test_answers_that_wait_have_one_limit_but_one_alone_may_be_larger() -> None:
    shared = front()
    one, other = Room(shared), Room(shared)
    other.check_answer(10_000)
    one.owe(300)
    other.check_answer(200)
    with pytest.raises(Overloaded, match="answers of 300 bytes wait"):
        other.check_answer(201)
    one.owe(0)
    other.check_answer(201)
    assert shared.answers == 0


@given(st.integers(0, 5000), st.integers(0, 300))
def test_tensors_behind_a_header_lie_aligned(length: int, header: int) -> None:
    memory = aligned(length, header)
    assert (len(memory), memory.readonly) == (length, False)
    if length:
        assert (np.frombuffer(memory, np.uint8).ctypes.data + header) % 64 == 0

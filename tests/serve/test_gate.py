from __future__ import annotations

import asyncio

import pytest

from hotlap.errors import Draining, NotReady
from hotlap.serve.gate import Gate
from tests.serve import made


def test_it_is_open_for_a_model_that_is_ready() -> None:
    model = made.served()
    gate = Gate()
    gate.check(model)
    model.ready = False
    with pytest.raises(NotReady, match='model "m" is not ready yet'):
        gate.check(model)


def test_draining_closes_it_and_waits_for_those_inside() -> None:
    async def main() -> None:
        gate, model = Gate(), made.served()
        jobs = [made.job(model), made.job(model)]
        gate.inside.update(jobs)
        draining = asyncio.create_task(gate.drain(20))
        await asyncio.sleep(0)
        with pytest.raises(Draining, match="about to stop"):
            gate.check(model)
        gate.leave(jobs[0])
        await asyncio.sleep(0)
        assert not draining.done()
        gate.leave(jobs[1])
        assert await draining == []

    made.run(main)


def test_who_is_inside_when_time_is_up_is_told() -> None:
    async def main() -> None:
        gate, job = Gate(), made.job(made.served())
        gate.inside.add(job)
        assert await gate.drain(0.01) == [job]
        gate.leave(job)
        assert await gate.drain(20) == []

    made.run(main)


def test_an_empty_gate_drains_at_once() -> None:
    async def main() -> None:
        assert await Gate().drain(20) == []

    made.run(main)

from __future__ import annotations

import msgspec

from hotlap.bench.exchange import Outcome, Request
from hotlap.bench.workload import Workload
from tests.bench.results import TARGET, process


def test_a_request_and_its_outcome_survive_the_files_they_travel_in() -> None:
    request = Request(target=TARGET, workload=Workload(), feeds="/feeds", rows=True, outcome="/outcome")
    assert msgspec.json.decode(msgspec.json.encode(request), type=Request) == request
    for outcome in (Outcome(done=True, result=process()), Outcome(error="no", kind="ModelError")):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(outcome), type=Outcome) == outcome

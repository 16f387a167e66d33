from __future__ import annotations

from pathlib import Path

import msgspec

from hotlap.bench.exchange import NO_ROOM, Outcome, Request, hand_back
from hotlap.bench.workload import Workload
from tests.bench.results import TARGET, process


def test_a_request_and_its_outcome_survive_the_files_they_travel_in() -> None:
    request = Request(target=TARGET, workload=Workload(), feeds="/feeds", rows=True, outcome="/outcome")
    assert msgspec.json.decode(msgspec.json.encode(request), type=Request) == request
    for outcome in (Outcome(done=True, result=process()), Outcome(error="no", kind="ModelError")):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(outcome), type=Outcome) == outcome


def test_an_answer_that_cannot_be_written_is_an_exit_code(tmp_path: Path) -> None:
    assert hand_back(Outcome(done=True), str(tmp_path / "outcome")) == 0
    assert hand_back(Outcome(done=True), str(tmp_path / "none" / "outcome")) == NO_ROOM

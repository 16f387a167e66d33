from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hotlap.errors import Overloaded
from hotlap.serve.scheduler import LOOK, Scheduler


@dataclass(eq=False)
class Paper:
    """Something that waits."""

    name: str = ""
    rows: int = 1
    key: Hashable = None
    nbytes: int = 1
    level: int = 0
    deadline: float | None = None
    place: int = field(default=0)


def queue(**more: object) -> Scheduler[Paper]:
    return Scheduler(**{"requests": 100, "nbytes": 10**6, "pays": lambda rows, nbytes: rows} | more)  # type: ignore[arg-type]


def names(jobs: list[Paper]) -> str:
    return "".join(job.name for job in jobs)


def pushed(scheduler: Scheduler[Paper], *jobs: Paper) -> list[Paper]:
    for job in jobs:
        scheduler.push(job)
    return list(jobs)


def test_nothing_waits_nothing_is_taken() -> None:
    assert queue().take(0.0) == ([], [])


def test_first_come_first_served_within_a_level_and_higher_levels_first() -> None:
    scheduler = queue(levels=3)
    pushed(scheduler, Paper("a", level=2), Paper("b", level=1), Paper("c", level=1), Paper("d", level=0))
    assert [names(scheduler.take(0.0)[0]) for _ in range(5)] == ["d", "b", "c", "a", ""]


def test_jobs_of_one_key_go_together_and_strangers_keep_their_order() -> None:
    scheduler = queue()
    pushed(scheduler, *(Paper(n, key=k) for n, k in zip("abcde", "xyxyx", strict=True)))
    assert [names(scheduler.take(0.0)[0]) for _ in range(2)] == ["ace", "bd"]


def test_without_a_key_each_goes_alone() -> None:
    scheduler = queue()
    pushed(scheduler, Paper("a"), Paper("b"))
    assert [names(scheduler.take(0.0)[0]) for _ in range(2)] == ["a", "b"]


def test_levels_do_not_mix_in_one_call() -> None:
    scheduler = queue(levels=2)
    pushed(scheduler, Paper("a", key="x", level=1), Paper("b", key="x"), Paper("c", key="x", level=1))
    assert [names(scheduler.take(0.0)[0]) for _ in range(2)] == ["b", "ac"]


def test_no_more_rows_go_together_than_pay() -> None:
    asked = []

    def pays(rows: int, nbytes: int) -> int:
        asked.append((rows, nbytes))
        return 4

    scheduler = queue(pays=pays)
    pushed(
        scheduler, *(Paper(n, key="x", rows=r, nbytes=10) for n, r in zip("abcd", (2, 1, 3, 1), strict=True))
    )
    assert names(scheduler.take(0.0)[0]) == "ab"
    assert asked == [(7, 40)]
    assert names(scheduler.take(0.0)[0]) == "cd"


def test_a_head_with_more_rows_than_pay_goes_alone() -> None:
    scheduler = queue(pays=lambda rows, nbytes: 4)
    pushed(scheduler, Paper("a", key="x", rows=9), Paper("b", key="x"))
    assert names(scheduler.take(0.0)[0]) == "a"


def test_lanes_share_what_waits() -> None:
    scheduler = queue()
    pushed(scheduler, *(Paper(n, key="x") for n in "abcde"))
    assert names(scheduler.take(0.0, takers=2)[0]) == "abc"
    assert names(scheduler.take(0.0)[0]) == "de"


def test_what_is_late_is_never_run() -> None:
    scheduler = queue()
    jobs = pushed(
        scheduler,
        Paper("a", key="x", deadline=1.0),
        Paper("b", key="x"),
        Paper("c", key="x", deadline=1.5),
        Paper("d", key="x", deadline=3.0),
    )
    batch, late = scheduler.take(2.0)
    assert (names(batch), names(late)) == ("bd", "a")
    assert scheduler.take(2.0) == ([], [jobs[2]])


def test_at_its_deadline_a_job_is_late() -> None:
    scheduler = queue()
    pushed(scheduler, Paper("a", deadline=1.0))
    assert names(scheduler.take(1.0)[1]) == "a"


def test_requests_and_bytes_are_bounded() -> None:
    scheduler = queue(requests=3, nbytes=100)
    jobs = pushed(scheduler, Paper("a", nbytes=60), Paper("b", nbytes=30))
    with pytest.raises(Overloaded, match=r"2 requests of 90 bytes wait already; 20 more would exceed 100"):
        scheduler.push(Paper(nbytes=20))
    pushed(scheduler, Paper("c", nbytes=10))
    with pytest.raises(Overloaded, match="3 requests wait already, and no more may"):
        scheduler.push(Paper(nbytes=0))
    assert scheduler.remove(jobs[0])
    assert (len(scheduler), scheduler.nbytes) == (2, 40)
    scheduler.check(60)


def test_a_job_larger_than_the_bound_is_taken_by_an_empty_queue() -> None:
    scheduler = queue(nbytes=100)
    pushed(scheduler, Paper("a", nbytes=1000))
    with pytest.raises(Overloaded):
        scheduler.push(Paper(nbytes=1))
    assert names(scheduler.take(0.0)[0]) == "a"


def test_a_job_is_removed_once() -> None:
    scheduler = queue()
    (job,) = pushed(scheduler, Paper("a"))
    assert scheduler.remove(job)
    assert not scheduler.remove(job)
    assert scheduler.take(0.0) == ([], [])


def test_only_so_many_are_looked_at_for_mates() -> None:
    scheduler = queue(requests=1000)
    pushed(scheduler, Paper("a", key="x"), *(Paper("-", key="y") for _ in range(LOOK)), Paper("b", key="x"))
    assert names(scheduler.take(0.0)[0]) == "a"


class Machine(RuleBasedStateMachine):
    """Any order of events, beside a model that is a plain list."""

    REQUESTS, BYTES, ROWS, LEVELS = 8, 40, 5, 2

    def __init__(self) -> None:
        super().__init__()
        self.scheduler: Scheduler[Paper] = Scheduler(
            requests=self.REQUESTS,
            nbytes=self.BYTES,
            levels=self.LEVELS,
            pays=lambda rows, nbytes: min(rows, self.ROWS),
        )
        self.waiting: list[Paper] = []
        self.seen: set[Paper] = set()
        self.now = 0.0
        self.count = 0

    @rule(
        rows=st.integers(1, 7),
        key=st.sampled_from([None, "x", "y"]),
        nbytes=st.integers(0, 50),
        level=st.integers(0, 1),
        left=st.none() | st.integers(-1, 4),
    )
    def push(self, rows: int, key: str | None, nbytes: int, level: int, left: int | None) -> None:
        self.count += 1
        deadline = None if left is None else self.now + left
        job = Paper(str(self.count), rows, key, nbytes, level, deadline, self.count)
        full = len(self.waiting) >= self.REQUESTS
        heavy = bool(self.waiting) and sum(j.nbytes for j in self.waiting) + nbytes > self.BYTES
        try:
            self.scheduler.push(job)
        except Overloaded:
            assert full or heavy
        else:
            assert not (full or heavy)
            self.waiting.append(job)

    @rule(takers=st.integers(1, 3))
    def take(self, takers: int) -> None:
        batch, late = self.scheduler.take(self.now, takers)
        for job in (*batch, *late):
            assert job in self.waiting and job not in self.seen, "nothing twice, nothing that was removed"
            self.seen.add(job)
        assert all(j.deadline is None or j.deadline > self.now for j in batch), "what is late is never run"
        assert all(j.deadline is not None and j.deadline <= self.now for j in late)
        alive = [j for j in self.waiting if j.deadline is None or j.deadline > self.now]
        assert bool(batch) == bool(alive), "while something can run, something is run"
        if batch:
            first = min(alive, key=lambda j: (j.level, j.place))
            assert batch[0] is first
            assert [j.place for j in batch] == sorted(j.place for j in batch)
            assert len(batch) == 1 or {j.key for j in batch} == {first.key} != {None}
            assert len(batch) == 1 or sum(j.rows for j in batch) <= self.ROWS
            assert {j.level for j in batch} == {first.level}
            mates = [j for j in alive if j.level == first.level and j.key == first.key]
            assert batch == mates[: len(batch)], "within a key nobody is overtaken"
        self.waiting = [j for j in self.waiting if j not in self.seen]

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.waiting))
        assert self.scheduler.remove(job)
        self.waiting.remove(job)

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def remove_what_has_gone(self, data: st.DataObject) -> None:
        assert not self.scheduler.remove(data.draw(st.sampled_from(sorted(self.seen, key=lambda j: j.place))))

    @rule(seconds=st.integers(0, 3))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @invariant()
    def counts(self) -> None:
        assert len(self.scheduler) == len(self.waiting) <= self.REQUESTS
        assert self.scheduler.nbytes == sum(j.nbytes for j in self.waiting)
        assert len(self.waiting) < 2 or self.scheduler.nbytes <= max(self.BYTES, self.waiting[0].nbytes)

    def teardown(self) -> None:
        """Nothing is lost: all that still waits comes out."""
        left = set(self.waiting)
        while True:
            batch, late = self.scheduler.take(self.now)
            left -= {*batch, *late}
            if not batch and not late:
                break
        assert not left
        assert (len(self.scheduler), self.scheduler.nbytes) == (0, 0)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)

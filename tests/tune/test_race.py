from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hotlap.tune.race import Race


def race_of(**times: list[float]) -> Race:
    race = Race(list(times))
    for label, values in times.items():
        for value in values:
            race.add(label, value)
    return race


def test_after_one_process_only_what_is_far_behind_is_dropped() -> None:
    race = race_of(fast=[1.0], near=[1.5], far=[1.7])
    assert race.drop_the_slow() == ["far"]
    assert race.running == ["fast", "near"]
    assert race.dropped["far"] == "dropped after 1: 1.70 times the leader's p50 (fast)"


def test_one_process_slowed_by_something_else_does_not_cost_a_candidate_its_place() -> None:
    race = race_of(a=[1.0, 1.0, 1.0], b=[1.01, 2.5, 0.99])
    assert race.drop_the_slow() == []


def test_three_processes_all_slower_than_every_one_of_the_leader_are_enough() -> None:
    assert race_of(a=[1.0, 1.01, 1.02], b=[1.06, 1.07, 1.08]).drop_the_slow() == ["b"]


def test_three_per_cent_is_not_enough_with_three_processes() -> None:
    assert race_of(a=[1.0, 1.0, 1.0], b=[1.02, 1.02, 1.02]).drop_the_slow() == []


def test_with_many_processes_the_interval_decides() -> None:
    rng = np.random.default_rng(1)
    a = list(rng.normal(1.0, 0.01, 12))
    b = list(rng.normal(1.05, 0.01, 12))
    c = list(rng.normal(1.005, 0.01, 12))
    race = race_of(a=a, b=b, c=c)
    assert race.drop_the_slow() == ["b"]
    assert set(race.level_with_leader()) == {"a", "c"}


def test_equal_candidates_are_never_all_dropped_and_rarely_any() -> None:
    """24 simulated races of four equal candidates with a tenth of the processes slowed 2.5 times."""
    rng = np.random.default_rng(2)
    wrongly = 0
    for _ in range(24):
        race = Race(list("abcd"))
        for _ in range(8):
            for label in race.next_round():
                slow = 2.5 if rng.random() < 0.1 else 1.0
                race.add(label, float(rng.normal(1.0, 0.01)) * slow)
            race.drop_the_slow()
        wrongly += len(race.dropped)
        assert race.running
    assert wrongly <= 24  # of 96: with one process each, one in ten is unlucky


def test_a_removed_candidate_is_out_with_its_reason() -> None:
    race = race_of(a=[1.0], b=[1.0])
    race.remove("a", "it refuses the model")
    assert race.running == ["b"]
    assert race.dropped == {"a": "it refuses the model"}
    assert race.leader() == "b"


def test_nobody_leads_before_anything_is_measured() -> None:
    race = Race(["a", "b"])
    assert race.leader() is None
    assert race.drop_the_slow() == []
    assert race.level_with_leader() == []


def test_it_is_settled_when_one_is_left_or_all_have_run_enough() -> None:
    assert race_of(a=[1.0]).settled()
    assert not race_of(a=[1.0], b=[1.0]).settled()
    assert race_of(a=[1.0] * 12, b=[1.0] * 12).settled()


@given(st.permutations(["a", "b", "c", "d"]), st.integers(0, 2**31))
def test_a_round_has_each_survivor_once(labels: list[str], seed: int) -> None:
    race = Race(labels, seed)
    race.remove(labels[0], "out")
    assert sorted(race.next_round()) == sorted(labels[1:])


def test_noise_alone_does_not_make_a_slow_candidate_level_with_the_leader() -> None:
    race = race_of(fast=[1.0, 1.6], slow=[1.5, 1.7])  # two processes each, disturbed: the ranges overlap
    assert race.level_with_leader() == ["fast"]
    assert race_of(a=[1.0, 1.01], b=[1.01, 1.02]).level_with_leader() == ["a", "b"]

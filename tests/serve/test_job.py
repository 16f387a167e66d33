from __future__ import annotations

from tests.serve import made


def test_a_job_knows_how_much_it_brings_and_starts_as_nothing_yet() -> None:
    job = made.job(made.served(), made.rows(1, 2))
    assert job.nbytes == 32
    assert (job.outputs, job.error, job.call, job.batch) == (None, None, None, 1)
    assert not (job.over or job.dropped)
    assert (job.timeline.arrived, job.timeline.started, job.timeline.computed) == (0, 0, 0)


def test_jobs_are_told_apart_though_they_ask_the_same() -> None:
    model = made.served()
    assert len({made.job(model), made.job(model)}) == 2

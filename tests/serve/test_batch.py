from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlap
from hotlap.errors import Cancelled, InputError
from hotlap.plan import Facts, Plan
from hotlap.runtime import Cancel
from hotlap.runtime.probe.alike import SAME_SHAPE, gap
from hotlap.serve.batch import Call, Runs
from hotlap.serve.job import Job
from hotlap.serve.rows import Rows
from hotlap.serve.served import Served
from hotlap.tensors import TensorSpec
from hotlap.verify.levels import NOISE_FACTOR
from hotlap.wire import Region
from tests import tiny
from tests.real import real
from tests.serve import made

STATE = TensorSpec.of("s", "float32", [2, "N", 3])


def runs(model: Served, torn: list[str] | None = None) -> Runs:
    rows = Rows(model.facts, model.runner.inputs, model.runner.outputs)
    return Runs(model.runner, rows, ([] if torn is None else torn).append)


def run(model: Served, *jobs: Job, torn: list[str] | None = None, cancel: Cancel | None = None) -> Call:
    for job in jobs:
        job.rows = Rows(model.facts, model.runner.inputs, model.runner.outputs).describe(job)[0]
    call = Call(list(jobs), cancel)
    runs(model, torn).run(call)
    return call


def calls(model: Served) -> list[Any]:
    return model.runner.calls  # type: ignore[attr-defined]


def test_one_job_is_one_call() -> None:
    model = made.served()
    call = run(model, made.job(model, made.rows(3)))
    np.testing.assert_array_equal(call.outcomes[0]["y"], made.rows(6))  # type: ignore[index]
    assert not call.together
    assert 0 < call.started <= call.computed


def test_rows_go_in_together_and_each_gets_its_own_answer() -> None:
    model = made.served()
    call = run(model, *(made.job(model, made.rows(*v)) for v in ([1], [2, 3], [4])))
    answers = [outcome["y"] for outcome in call.outcomes]  # type: ignore[index]
    assert [a[:, 0].tolist() for a in answers] == [[2], [4, 6], [8]]
    assert call.together
    assert [c["x"].shape for c in calls(model)] == [(4, 4)]


def test_rows_may_lie_on_another_axis() -> None:
    facts = Facts(rows="independent", axes={"s": 1, "z": 1})
    runner = made.fake(
        lambda feed: {"z": feed["s"] + 1},
        inputs=[STATE],
        outputs=[TensorSpec.of("z", "float32", [2, "N", 3])],
    )
    model = made.served(runner, facts=facts)
    states = [np.full((2, n, 3), n, np.float32) for n in (1, 2)]
    call = run(model, *(made.job(model, {"s": s}) for s in states))
    for state, outcome in zip(states, call.outcomes, strict=True):
        np.testing.assert_array_equal(outcome["z"], state + 1)  # type: ignore[index]
        assert outcome["z"].flags.c_contiguous  # type: ignore[index]


def test_only_the_outputs_that_a_job_wants_are_given_and_in_its_order() -> None:
    outputs = [TensorSpec.of(n, "float32", ["N", 4]) for n in ("a", "b", "c")]
    runner = made.fake(lambda feed: {n: feed["x"] + i for i, n in enumerate("abc")}, outputs=outputs)
    facts = Facts(rows="independent", axes={"x": 0, "a": 0, "b": 0, "c": 0})
    model = made.served(runner, facts=facts)
    jobs = [made.job(model, outputs=o) for o in (["c", "a"], [], ["b"])]
    assert [list(o) for o in run(model, *jobs).outcomes] == [["c", "a"], ["a", "b", "c"], ["b"]]  # type: ignore[arg-type]
    assert list(run(model, jobs[0]).outcomes[0]) == ["c", "a"]  # type: ignore[arg-type]


def test_an_output_that_is_not_there_fails_its_job_alone() -> None:
    model = made.served()
    call = run(model, made.job(model), made.job(model, outputs=["z"]), made.job(model))
    assert [type(o) for o in call.outcomes] == [dict, InputError, dict]
    assert str(call.outcomes[1]) == 'output "z": no such output'


def poisonous(feed: dict[str, Any]) -> dict[str, Any]:
    if (feed["x"] == 13).any():
        raise ValueError("13")
    return made.doubled(feed)


def test_one_bad_job_fails_alone() -> None:
    model = made.served(made.fake(poisonous))
    call = run(model, *(made.job(model, made.rows(v)) for v in (1, 13, 2)))
    assert [o["y"][0, 0] if isinstance(o, dict) else str(o) for o in call.outcomes] == [2, "13", 4]
    assert not call.together
    assert [len(c["x"]) for c in calls(model)] == [3, 1, 1, 1]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), MemoryError(), RecursionError()])
def test_whatever_a_runner_raises_is_the_outcome(error: BaseException) -> None:
    def broken(feed: dict[str, Any]) -> Any:
        raise error

    model = made.served(made.fake(broken))
    assert run(model, made.job(model)).outcomes == [error]
    assert run(model, made.job(model), made.job(model)).outcomes == [error, error]


@pytest.mark.parametrize(
    "answer",
    [
        lambda feed: {"y": feed["x"][:1]},
        lambda feed: {"y": np.concatenate([feed["x"], feed["x"]])},
        lambda feed: {"y": np.float32(1)},
    ],
)
def test_other_rows_than_went_in_are_never_cut_apart(answer: Any) -> None:
    torn: list[str] = []
    model = made.served(made.fake(answer))
    call = run(model, made.job(model), made.job(model), torn=torn)
    alone = answer({"x": made.rows(1)})["y"]
    for outcome in call.outcomes:
        np.testing.assert_array_equal(outcome["y"], alone)  # type: ignore[index]
    assert not call.together
    assert len(torn) == 1 and torn[0].startswith('2 rows went in, and output "y" came out as [')


def test_inputs_without_rows_are_given_once() -> None:
    inputs = [made.X, TensorSpec.of("rate", "int64", [])]
    model = made.served(made.fake(inputs=inputs))
    jobs = [made.job(model, {"x": made.rows(v), "rate": np.array(8)}) for v in (1, 2)]
    assert run(model, *jobs).together
    assert calls(model)[0]["rate"] == 8


def test_text_goes_together_too() -> None:
    text = TensorSpec.of("t", "string", ["N"])
    facts = Facts(rows="independent", axes={"t": 0, "u": 0})
    runner = made.fake(
        lambda feed: {"u": feed["t"] + "!"}, inputs=[text], outputs=[TensorSpec.of("u", "string", ["N"])]
    )
    model = made.served(runner, facts=facts)
    call = run(model, *(made.job(model, {"t": np.array(w, object)}) for w in (["a"], ["bc", "d"])))
    assert [o["u"].tolist() for o in call.outcomes] == [["a!"], ["bc!", "d!"]]  # type: ignore[index]
    assert call.together


def reading(value: float) -> Any:
    def read(region: Region, array: Any) -> None:
        if region.name == "gone":
            raise InputError("region gone is too small")
        array[...] = value

    return read


@pytest.mark.parametrize("axis", [0, 1])
def test_shared_memory_is_read_into_the_rows_of_the_job(axis: int) -> None:
    spec = TensorSpec.of("x", "float32", ["N", 4] if axis == 0 else [4, "N"])
    facts = Facts(rows="independent", axes={"x": axis, "y": axis})
    model = made.served(
        made.fake(inputs=[spec], outputs=[TensorSpec.of("y", "float32", spec.shape)]), facts=facts
    )
    shape = (2, 4) if axis == 0 else (4, 2)
    region = made.job(model, {}, regions={"x": Region("r", 0, 32)}, shapes={"x": shape}, read=reading(5.0))
    plain = made.job(model, np.full((1, 4) if axis == 0 else (4, 1), 3, np.float32))
    call = run(model, plain, region)
    assert call.together
    np.testing.assert_array_equal(call.outcomes[1]["y"], np.full(shape, 10, np.float32))  # type: ignore[index]
    np.testing.assert_array_equal(run(model, region).outcomes[0]["y"], np.full(shape, 10, np.float32))  # type: ignore[index]


def test_a_region_that_cannot_be_read_fails_its_job_alone() -> None:
    model = made.served()
    bad = made.job(model, {}, regions={"x": Region("gone", 0, 16)}, shapes={"x": (1, 4)}, read=reading(0.0))
    call = run(model, made.job(model), bad, made.job(model))
    assert [type(o) for o in call.outcomes] == [dict, InputError, dict]


def test_a_call_is_given_up_when_all_its_jobs_are_over() -> None:
    model = made.served()
    call = Call([made.job(model), made.job(model)], Cancel())
    call.jobs[0].over = True
    call.give_up()
    assert call.cancel is not None and not call.cancel.cancelled
    call.jobs[1].over = True
    call.give_up()
    assert call.cancel.cancelled
    runs(model).run(call)
    assert [type(o) for o in call.outcomes] == [Cancelled, Cancelled]


def test_the_requests_id_is_given_to_a_runtime_that_logs() -> None:
    seen = []

    class Listening(type(made.fake())):  # type: ignore[misc]
        def run(self, feed: Any, *args: Any, **more: Any) -> Any:
            seen.append(more.get("log_id"))
            return super().run(feed, *args, **more)

    for plan in (Plan(), Plan(run={"log_severity_level": 1}), Plan(session={"log_severity_level": 4})):
        model = made.served(Listening([made.X], [made.Y], plan=plan))
        run(model, made.job(model, id="abc"))
    assert seen == [None, "abc", None]


def test_batches_of_a_real_session_are_what_single_calls_give(tmp_path: Path) -> None:
    with hotlap.open(tiny.save(tiny.mlp(), tmp_path / "m.onnx"), threads=1) as runner:
        model = made.served(runner)
        feeds = [np.random.default_rng(n).standard_normal((n % 3 + 1, 16), np.float32) for n in range(7)]
        for _ in range(3):  # plain, bound, bound again
            call = run(model, *(made.job(model, f) for f in feeds))
            assert call.together
            for feed, outcome in zip(feeds, call.outcomes, strict=True):
                np.testing.assert_allclose(outcome["y"], runner.run({"x": feed})["y"], rtol=1e-6)  # type: ignore[index]


def test_sentences_in_a_batch_are_what_they_are_alone() -> None:
    """By the rule of the gate "exact": no further apart than the model's own noise puts them."""
    minilm = real("minilm")
    feeds = minilm.feeds(4)
    longest = max(f["input_ids"].shape[1] for f in feeds)
    padded = [{n: np.pad(a, ((0, 0), (0, longest - a.shape[1]))) for n, a in f.items()} for f in feeds]
    with (
        hotlap.open(minilm.path, threads=1) as runner,
        hotlap.open(
            minilm.path, threads=1, session={"graph_optimization_level": "ORT_DISABLE_ALL"}
        ) as otherwise,
    ):
        axes = {s.name: 0 for s in (*runner.inputs, *runner.outputs)}
        model = made.served(runner, facts=Facts(rows="independent", axes=axes))
        call = run(model, *(made.job(model, f) for f in padded))
        assert call.together
        for feed, outcome in zip(padded, call.outcomes, strict=True):
            alone, noisy = runner.run(feed), otherwise.run(feed)
            for name, answer in alone.items():
                limit = NOISE_FACTOR * gap(noisy[name], answer) + SAME_SHAPE
                assert gap(outcome[name], answer) <= limit, name  # type: ignore[index]

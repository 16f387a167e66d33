from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import hotlap
from hotlap.errors import InputError, ModelError, PlanError, UsageError
from hotlap.plan import Plan
from hotlap.runtime import Runner, file_digest
from hotlap.runtime.limits import Limits
from tests import tiny

Open = Callable[..., Runner]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    def opened(model: onnx.ModelProto, **arguments: Any) -> Runner:
        folder = tmp_path / str(threading.get_ident())  # the fixture is one for all threads of a test
        folder.mkdir(exist_ok=True)
        return hotlap.open(tiny.save(model, folder / "m.onnx"), **arguments)

    return opened


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


def test_run_gives_each_output_by_name(opened: Open) -> None:
    runner = opened(tiny.two_outputs())
    result = runner.run({"a": f32(1, 2), "b": f32(3, 4)})
    assert list(result) == ["total", "product"]
    assert result["total"].tolist() == [4, 6]
    assert result["product"].tolist() == [3, 8]


def test_outputs_can_be_chosen_in_any_order_and_once(opened: Open) -> None:
    runner = opened(tiny.two_outputs())
    feed = {"a": f32(1), "b": f32(2)}
    assert list(runner.run(feed, ["product"])) == ["product"]
    assert list(runner.run(feed, ["product", "total", "product"])) == ["product", "total"]
    assert list(runner.run(feed, "total")) == ["total"], "one name is no row of letters"


def test_an_unknown_output_names_the_nearest(opened: Open) -> None:
    runner = opened(tiny.two_outputs())
    with pytest.raises(
        InputError, match=r'output "totl": no such output \(did you mean "total"\?\); it gives'
    ) as e:
        runner.run({"a": f32(1), "b": f32(2)}, ["totl", "x"])
    assert len(e.value.problems) == 2
    with pytest.raises(InputError, match="outputs is empty"):
        runner.run({"a": f32(1), "b": f32(2)}, [])


def test_a_model_of_one_input_is_called_with_its_value(opened: Open) -> None:
    y = opened(tiny.add())(np.ones((2, 4), np.float32))
    assert y.tolist() == [[2] * 4] * 2


def test_a_call_of_several_outputs_gives_all(opened: Open) -> None:
    result = opened(tiny.zipmap())(f32(0.2, 0.8)[None])
    assert result["label"].tolist() == [1]
    assert result["scores"] == [{0: pytest.approx(0.2), 1: pytest.approx(0.8)}]


def test_a_call_of_a_model_of_several_inputs_says_what_to_call(opened: Open) -> None:
    with pytest.raises(InputError, match=r"the model has 2 inputs \(a, b\): call run"):
        opened(tiny.add_pair())(f32(1))


def test_sequences_come_as_lists(opened: Open) -> None:
    parts = opened(tiny.sequence())(np.arange(4, dtype=np.float32).reshape(2, 2))
    assert [p.tolist() for p in parts] == [[[0, 1]], [[2, 3]]]


def test_text_scalars_nothing_and_control_flow(opened: Open) -> None:
    assert opened(tiny.text())(["ä", "b"]).tolist() == ["ä", "b"]
    assert opened(tiny.scalar())(1.5) == 2.5
    assert opened(tiny.empty())(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert opened(tiny.no_input()).run({})["y"].tolist() == [1, 1]
    assert opened(tiny.branch())(f32(1, -3)).tolist() == [-1, 3]


def test_results_stay_the_callers_own(opened: Open) -> None:
    runner = opened(tiny.add())
    first = runner(np.ones((1, 4), np.float32))
    second = runner(np.full((1, 4), 5, np.float32))
    second[:] = 0
    third = runner(np.ones((1, 4), np.float32))
    runner.close()
    assert first.tolist() == third.tolist() == [[2, 2, 2, 2]]


def test_an_answer_that_is_an_input_is_a_copy(opened: Open) -> None:
    x = f32(1, 2)
    y = opened(tiny.identity())(x)
    y[:] = 9
    assert x.tolist() == [1, 2]


def test_an_answer_that_is_a_weight_can_be_written_without_harm(opened: Open) -> None:
    runner = opened(tiny.no_input())
    runner.run({})["y"][:] = 9
    assert runner.run({})["y"].tolist() == [1, 1]


def test_what_fails_inside_the_model_is_one_clear_line(
    opened: Open, capfd: pytest.CaptureFixture[str]
) -> None:
    runner = opened(tiny.gather_mask())
    ids = np.full((1, 4), 5000)
    with pytest.raises(InputError) as caught:
        runner.run({"ids": ids, "mask": np.ones_like(ids)})
    assert str(caught.value) == (
        "the model does not take this feed: node Gather: indices element out of data bounds, idx=5000 must "
        "be within the inclusive range [-100,99]"
    )
    assert caught.value.__cause__ is not None
    assert capfd.readouterr().err == ""


def test_a_closed_runner_says_so(opened: Open) -> None:
    with opened(tiny.add()) as runner:
        pass
    runner.close()
    with pytest.raises(UsageError, match=r"this runner of m\.onnx is closed: open the model again"):
        runner(np.ones((1, 4), np.float32))
    assert "closed" in repr(runner)


def test_a_scalar_is_checked_where_the_file_says_so(opened: Open) -> None:
    with pytest.raises(InputError, match=r"got 2 axes \[2, 3\], expected 0"):
        opened(tiny.scalar())(np.ones((2, 3), np.float32))


def test_an_input_of_unknown_rank_takes_any(opened: Open) -> None:
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, None)
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    runner = opened(tiny.model([tiny.node("Neg", ["x"], ["y"])], [value], [out]))
    assert runner.inputs[0].label == "float32[...]"
    for shape in ((), (2,), (2, 3)):
        assert runner(np.ones(shape, np.float32)).shape == shape


def named_in_no_text(folder: Path, place: str) -> Path:
    model = tiny.model(
        [tiny.node("Neg", ["input"], ["y"], name="Negate")],
        [tiny.info("input", onnx.TensorProto.FLOAT, ["rows"])],
        [tiny.info("y", onnx.TensorProto.FLOAT, ["rows"])],
    )
    file = folder / f"{place}.onnx"
    file.write_bytes(model.SerializeToString().replace(place.encode(), b"\xff" * len(place)))
    return file


def test_a_node_whose_name_is_no_text_runs(tmp_path: Path) -> None:
    with hotlap.open(named_in_no_text(tmp_path, "Negate")) as runner:
        assert runner.run({"input": f32(1)})["y"].tolist() == [-1]


@pytest.mark.parametrize("place", ["input", "rows"])
def test_a_signature_that_is_no_text_is_one_clear_error(tmp_path: Path, place: str) -> None:
    with pytest.raises(ModelError, match="is not UTF-8, so no caller can name it"):
        hotlap.open(named_in_no_text(tmp_path, place))


def test_it_shows_what_it_is(opened: Open) -> None:
    runner = opened(tiny.mlp(), threads=1, spin="off")
    assert repr(runner) == (
        "<Runner m.onnx: cpu, 1 thread, spin off; x float32[batch, 16] -> y float32[batch, 4]>"
    )
    assert (runner.providers, runner.placement, runner.notes) == (("cpu",), {"cpu": 3}, ())


def test_many_threads_get_their_own_answers(opened: Open) -> None:
    runner = opened(tiny.add(), threads=1)
    wrong: list[float] = []

    def work(value: float) -> None:
        for rows in (1, 3, 2) * 50:
            y = runner(np.full((rows, 4), value, np.float32))
            if y.shape != (rows, 4) or (y != 2 * value).any():
                wrong.append(value)

    workers = [threading.Thread(target=work, args=(float(n),)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


# ── warming ───────────────────────────────────────────────────────────────────────────────────────────


def planned(model: onnx.ModelProto, tmp_path: Path, **arguments: Any) -> Plan:
    path = tiny.save(model, tmp_path / "m.onnx")
    return Plan(model={"path": str(path), "digest": file_digest(path)}, **arguments)  # type: ignore[arg-type]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, tuple[int, ...]]]:
    """The shapes of every feed that a Runner runs."""
    feeds: list[dict[str, tuple[int, ...]]] = []
    call = Runner._call

    def record(self: Runner, names: list[str], arrays: dict[str, Any], limits: Limits) -> Mapping[str, Any]:
        feeds.append({n: a.shape for n, a in arrays.items()})
        return call(self, names, arrays, limits)

    monkeypatch.setattr(Runner, "_call", record)
    return feeds


def test_it_is_warm_when_it_is_ready(opened: Open, seen: list[Any]) -> None:
    opened(tiny.add())
    assert seen == [{"x": (1, 4)}]


def test_warming_can_be_left_out(opened: Open, seen: list[Any]) -> None:
    opened(tiny.add(), warm=False)
    assert seen == []


def test_each_shape_of_the_plan_is_run(tmp_path: Path, seen: list[Any]) -> None:
    hotlap.open(planned(tiny.add(), tmp_path, warm=({"x": (1, 4)}, {"x": (8, 4)})))
    assert seen == [{"x": (1, 4)}, {"x": (8, 4)}]


def test_a_listed_shape_that_does_not_fit_is_a_plan_error(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"warm: x \[1, 5\]: .*axis 1 has size 5, expected 4"):
        hotlap.open(planned(tiny.add(), tmp_path, warm=({"x": (1, 5)},)))
    with pytest.raises(PlanError, match=r'"z".*no input of that name'):
        hotlap.open(planned(tiny.add(), tmp_path, warm=({"z": (1, 4)},)))


@pytest.mark.thread_unsafe(reason="the captured log is one for all threads")
def test_a_guess_that_does_not_run_is_a_note_and_no_failure(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    one_row = tiny.model(
        [tiny.node("Gather", ["table", "x"], ["y"])],
        [tiny.info("x", onnx.TensorProto.INT64, ["n"])],
        [tiny.info("y", onnx.TensorProto.FLOAT, ["n"])],
        {"table": np.zeros(1, np.float32)},
    )
    always_wrong = tiny.model(
        [tiny.node("Reshape", ["x", "shape"], ["y"])],
        [tiny.info("x", onnx.TensorProto.FLOAT, ["n", "n"])],
        [tiny.info("y", onnx.TensorProto.FLOAT, [7, 7])],
        {"shape": np.array([7, 7])},
    )
    runner = opened(always_wrong)
    assert runner.notes[0].startswith(
        "not warmed: no made feed runs (the model does not take this feed: node Reshape"
    )
    assert caplog.records[0].levelno == logging.WARNING
    assert opened(one_row) is not None

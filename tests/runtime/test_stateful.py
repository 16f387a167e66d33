from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import hotlap
from hotlap.errors import InputError, UsageError
from hotlap.runtime import FakeRunner, Runner
from hotlap.tensors import TensorSpec
from tests import tiny
from tests.real import real

T = onnx.TensorProto


def counter() -> onnx.ModelProto:
    """y = state + x, state_next = state + x: a running sum."""
    return tiny.model(
        [tiny.node("Add", ["x", "state"], ["y"]), tiny.node("Add", ["x", "state"], ["state_next"])],
        [tiny.info("x", T.FLOAT, ["N"]), tiny.info("state", T.FLOAT, ["N"])],
        [tiny.info("y", T.FLOAT, ["N"]), tiny.info("state_next", T.FLOAT, ["N"])],
    )


def past() -> onnx.ModelProto:
    """present = past with x appended, n = how long it is: a decoder's cache."""
    return tiny.model(
        [tiny.node("Concat", ["past", "x"], ["present"], axis=1), tiny.node("Shape", ["present"], ["n"])],
        [tiny.info("x", T.FLOAT, ["batch", 1, 2]), tiny.info("past", T.FLOAT, ["batch", "past_length", 2])],
        [tiny.info("present", T.FLOAT, ["batch", "total", 2]), tiny.info("n", T.INT64, [3])],
    )


def opened(model: onnx.ModelProto, tmp_path: Path) -> Runner:
    return hotlap.open(tiny.save(model, tmp_path / "m.onnx"), threads=1, warm=False)


def row(value: float, size: int = 2) -> Any:
    return np.full(size, value, np.float32)


def test_the_state_goes_on_from_call_to_call_in_each_stream(tmp_path: Path) -> None:
    runner = opened(counter(), tmp_path)
    a, b = runner.stateful({"state": "state_next"}), runner.stateful({"state": "state_next"})
    kept = []
    for n in range(1, 5):
        kept.append(a.run({"x": row(n)}))
        assert list(kept[-1]) == ["y"]
        assert b.run({"x": row(10 * n, 3)})["y"].shape == (3,)
    assert [k["y"][0] for k in kept] == [1, 3, 6, 10]
    assert a.state["state"].tolist() == [10, 10] and b.state["state"].tolist() == [100] * 3
    a.reset()
    assert a.state == {} and a.run({"x": row(7)})["y"].tolist() == [7, 7]


@pytest.mark.thread_unsafe(reason="it patches a class of ORT's to record addresses")
def test_the_next_call_reads_the_state_where_the_last_one_wrote_it(tmp_path: Path) -> None:
    stream = opened(counter(), tmp_path).stateful({"state": "state_next"})
    stream.run({"x": row(1, 200_000)})
    assert stream._state is not None
    written = stream._state["state"]
    bound = []
    binding_type = type(opened(counter(), tmp_path).session.io_binding())
    original = binding_type.bind_ortvalue_input

    def record(self: Any, name: str, value: Any) -> None:
        bound.append((name, value.data_ptr()))
        original(self, name, value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binding_type, "bind_ortvalue_input", record)
        x = row(2, 200_000)
        assert (stream.run({"x": x})["y"] == 3).all()
    assert dict(bound) == {"x": x.ctypes.data, "state": written.data_ptr()}


def test_a_state_that_grows(tmp_path: Path) -> None:
    stream = opened(past(), tmp_path).stateful({"past": "present"})
    for n in range(1, 6):
        assert stream.run({"x": np.full((3, 1, 2), n, np.float32)})["n"].tolist() == [3, n, 2]
    assert stream.state["past"][0, :, 0].tolist() == [1, 2, 3, 4, 5]


def test_a_first_state_can_be_given_and_is_only_read(tmp_path: Path) -> None:
    first = row(100)
    stream = opened(counter(), tmp_path).stateful({"state": "state_next"}, initial={"state": first})
    for _ in range(2):
        assert stream.run({"x": row(1)})["y"].tolist() == [101, 101]
        assert stream.run({"x": row(1)})["y"].tolist() == [102, 102]
        stream.reset()
    assert first.tolist() == [100, 100]


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    runner = opened(past(), tmp_path)
    for pairs, word in (
        ({}, "no state named"),
        ({"pats": "present"}, r'no input "pats" \(did you mean "past"\?\)'),
        ({"past": "presnt"}, r'no output "presnt" \(did you mean "present"\?\)'),
        ({"past": "n"}, r'"past" is float32\[.*\], but "n" is int64\[3\]'),
        ({"past": "present", "x": "present"}, "one output cannot be the next value of two inputs"),
    ):
        with pytest.raises(UsageError, match=word):
            runner.stateful(pairs)
    with pytest.raises(UsageError, match='initial "x" is no input of the state'):
        runner.stateful({"past": "present"}, initial={"x": row(1)})
    with pytest.raises(InputError, match="got float64"):
        runner.stateful({"past": "present"}, initial={"past": np.zeros((1, 0, 2))})
    with pytest.raises(InputError, match="missing"):
        runner.stateful({"past": "present"}).run({})


def test_a_stream_is_one_call_after_another() -> None:
    x, y = TensorSpec.of("x", "float32", [2]), TensorSpec.of("y", "float32", [2])
    inside, go_on = threading.Event(), threading.Event()

    def answer(feed: Any) -> Any:
        inside.set()
        go_on.wait(10)
        return {"y": feed["s"] + feed["x"], "s2": feed["s"] + feed["x"]}

    fake = FakeRunner(
        [x, TensorSpec.of("s", "float32", [2])], [y, TensorSpec.of("s2", "float32", [2])], answer=answer
    )
    stream = fake.stateful({"s": "s2"})
    first = threading.Thread(target=stream.run, args=({"x": row(1)},))
    first.start()
    inside.wait(10)
    with pytest.raises(UsageError, match="a stream is one call after another"):
        stream.run({"x": row(1)})
    go_on.set()
    first.join()
    assert stream.run({"x": row(1)})["y"].tolist() == [2, 2]
    assert stream.state["s"].tolist() == [2, 2]


def test_after_close_a_stream_says_so(tmp_path: Path) -> None:
    runner = opened(counter(), tmp_path)
    stream = runner.stateful({"state": "state_next"})
    stream.run({"x": row(1)})
    runner.close()
    with pytest.raises(UsageError, match="is closed"):
        stream.run({"x": row(1)})


def test_text_models_have_streams_too(tmp_path: Path) -> None:
    built = counter()
    built.graph.node.append(tiny.node("Identity", ["t"], ["u"]))
    built.graph.input.append(tiny.info("t", T.STRING, ["K"]))
    built.graph.output.append(tiny.info("u", T.STRING, ["K"]))
    stream = opened(built, tmp_path).stateful({"state": "state_next"})
    assert [stream.run({"x": row(1), "t": ["a"]})["y"][0] for _ in range(3)] == [1, 2, 3]


def test_the_speech_detector_in_a_stream_answers_as_by_hand() -> None:
    model = real("silero")
    runner = hotlap.open(model.path, threads=1)
    names = [s.name for s in runner.inputs]
    assert names == ["input", "state", "sr"], runner
    stream = runner.stateful({"state": "stateN"})
    rng = np.random.default_rng(0)
    state = np.zeros((2, 1, 128), np.float32)
    for _ in range(6):
        sound = rng.standard_normal((1, 576)).astype(np.float32)
        by_hand = runner.session.run(None, {"input": sound, "state": state, "sr": np.array(16000)})
        state = by_hand[1]
        assert stream.run({"input": sound, "sr": np.array(16000)})["output"].tobytes() == by_hand[0].tobytes()
    assert stream.state["state"].tobytes() == state.tobytes()

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hotlap.runtime.check import Input, Output, call_for, direct_call_for, key_for

F32 = np.dtype(np.float32)
ROW = np.arange(4, dtype=np.float32)


class Binding:
    """Remembers what is bound; `run` below computes from that."""

    def __init__(self) -> None:
        self.bound: dict[str, Any] = {}
        self.log: list[str] = []

    def bind_ortvalue_input(self, name: str, value: Any) -> None:
        self.bound[name] = value

    def bind_output(self, name: str) -> None:
        self.log.append(f"allocate {name}")

    def get_outputs_as_ortvaluevector(self) -> list[Any]:
        return [self]

    def numpy(self) -> Any:
        return np.full(2, 7.0)


def call(inputs: list[Input], outputs: list[Output], run: Any = None) -> tuple[Any, Binding]:
    binding = Binding()
    run = run or (lambda binding, options: None)
    return call_for(binding, run, "shared", lambda array, kind: ("wrapped", array), inputs, outputs), binding


def copied(name: str = "x", shape: tuple[int, ...] = (4,)) -> Input:
    return Input(name, "copy", F32, shape, np.zeros(shape, F32), 1)


def test_a_small_input_is_copied_in_and_a_small_output_out() -> None:
    x, held = copied(), np.zeros(4, F32)

    def run(binding: Any, options: Any) -> None:
        held[...] = 2 * x.held

    fast, _ = call([x], [Output("y", "copy", held)], run)
    first = fast({"x": ROW})
    second = fast({"x": ROW + 1})
    assert (first["y"].tolist(), second["y"].tolist()) == ([0, 2, 4, 6], [2, 4, 6, 8])


@pytest.mark.parametrize(
    "feed",
    [
        {"x": ROW.astype(">f4")},
        {"x": ROW.astype(np.float64)},
        {"x": ROW[None]},
        {"x": ROW[:3]},
        {"x": ROW.tolist()},
        {"x": ROW.view(np.matrix)},
        {"x": np.ma.array(ROW)},
        {"z": ROW},
        {"x": ROW, "z": ROW},
        {},
        [ROW],
        None,
    ],
    ids=str,
)
def test_whatever_is_not_plainly_of_the_signature_is_left_to_the_full_check(feed: Any) -> None:
    ran: list[int] = []
    fast, _ = call([copied()], [Output("y", "copy", ROW)], lambda *_: ran.append(1))
    direct = direct_call_for(lambda *_: ran.append(1), None, [copied()], ["y"])
    assert fast(feed) is None and direct(feed) is None and ran == []
    assert key_for(["x"], [F32])(feed) in (None, ((1, 4),), ((3,),))


def test_a_large_input_is_bound_for_the_call_alone() -> None:
    seen = []
    x = Input("x", "wrap", F32, (4,), "nothing", 1)
    fast, binding = call([x, copied("z")], [], lambda b, o: seen.append(b.bound["x"]))
    assert fast({"x": ROW, "z": ROW}) == {}
    assert seen[0][1] is ROW and binding.bound["x"] == "nothing"
    for other in (np.arange(8, dtype=F32)[::2], np.frombuffer(bytearray(17), F32, 4, 1)):
        assert fast({"x": other, "z": ROW}) is None


def test_an_own_buffer_is_known_by_itself() -> None:
    own = np.zeros(4, F32)
    fast, _ = call([Input("x", "own", F32, (4,), own, 1)], [])
    assert fast({"x": own}) == {} and fast({"x": own.copy()}) is None
    own.shape = (2, 2)
    assert fast({"x": own}) is None


def test_allocated_outputs_are_bound_anew_and_echoes_copied() -> None:
    fast, binding = call([copied()], [Output("y", "alloc", place=0), Output("x", "echo")])
    result = fast({"x": ROW})
    assert list(result) == ["y", "x"] and result["y"].tolist() == [7, 7]
    assert (result["x"] == ROW).all() and result["x"] is not ROW
    assert binding.log == ["allocate y"]


def test_views_are_of_the_bound_memory() -> None:
    held = np.zeros(4, F32)
    fast, _ = call([copied()], [Output("y", "view", held)])
    assert fast({"x": ROW})["y"].base is held


def test_options_go_to_the_run_and_an_error_frees_the_buffers() -> None:
    seen: list[Any] = []

    def run(binding: Any, options: Any) -> None:
        seen.append(options)
        if options == "bad":
            raise ZeroDivisionError

    fast, _ = call([copied()], [], run)
    fast({"x": ROW})
    with pytest.raises(ZeroDivisionError):
        fast({"x": ROW}, "bad")
    assert fast({"x": ROW}, "mine") == {} and seen == ["shared", "bad", "mine"]


def test_a_call_within_the_call_is_turned_away() -> None:
    inner: list[Any] = []
    fast: Any = None

    def run(binding: Any, options: Any) -> None:
        inner.append(fast({"x": ROW}))

    fast, _ = call([copied()], [], run)
    assert fast({"x": ROW}) == {} and inner == [None]


def test_the_direct_way_checks_and_runs() -> None:
    seen: list[Any] = []

    def run(names: Any, feed: Any, options: Any) -> Any:
        seen.append((names, options))
        return [feed["x"] + 1, 5]

    fast = direct_call_for(run, "shared", [copied()], ["y", "z"])
    assert fast({"x": ROW})["y"].tolist() == [1, 2, 3, 4]
    assert fast({"x": ROW}, "mine")["z"] == 5
    assert seen == [(["y", "z"], "shared"), (["y", "z"], "mine")]


def test_many_inputs_and_none() -> None:
    names = [f"x{n}" for n in range(300)]
    fast, _ = call([copied(n) for n in names], [])
    assert fast(dict.fromkeys(names, ROW)) == {}
    fast, _ = call([], [Output("y", "copy", ROW)])
    assert fast({})["y"].tolist() == [0, 1, 2, 3]


def test_a_key_is_the_shapes_in_the_inputs_order() -> None:
    key = key_for(["a", "b"], [F32, F32])
    assert key({"b": ROW, "a": ROW[None]}) == ((1, 4), (4,))
    assert key({"a": ROW}) is None and key({"a": ROW, "b": ROW.astype(int)}) is None
    assert key_for([], [])({}) == ()


def test_no_name_of_a_model_becomes_code() -> None:
    evil = 'x"] + __import__("os").system("false")'
    fast, _ = call([copied(evil)], [Output('"\n    raise ValueError', "copy", ROW)])
    assert list(fast({evil: ROW})) == ['"\n    raise ValueError']

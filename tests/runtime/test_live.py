"""The whole of a call, whatever the arrays: no difference to ORT's plain run on clean copies."""

from __future__ import annotations

import faulthandler
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hotlap
from hotlap.errors import InputError, Unavailable
from hotlap.runtime import Runner, usable_providers
from hotlap.runtime.live import MOST_SIGNATURES
from tests import tiny
from tests.runtime.layouts import (
    FOREIGN,
    LAYOUTS,
    NUMPY,
    dtype_of,
    expected,
    opened,
    same_bits,
    values,
)

T = onnx.TensorProto
SHAPES = st.one_of(
    st.just(()),
    st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple),
    st.sampled_from([(70_000,), (300, 300), (0, 70_000)]),  # beyond what is copied into a bound buffer
)
LAYOUT = st.sampled_from(sorted(LAYOUTS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@st.composite
def signatures(draw: st.DrawFn, names: tuple[str, ...] = NUMPY) -> list[tuple[str, tuple[int, ...]]]:
    count = draw(st.integers(1, 5))
    return [(draw(st.sampled_from(names)), draw(SHAPES)) for _ in range(count)]


def laid_out(
    draw: st.DrawFn, signature: list[tuple[str, tuple[int, ...]]], seed: int, orders: bool = True
) -> dict[str, Any]:
    feed = {}
    for n, (name, shape) in enumerate(signature):
        array = LAYOUTS[draw(LAYOUT)](values(name, shape, seed + n))
        if orders and draw(st.booleans()):
            array = array.astype(array.dtype.newbyteorder(">"), order="K", copy=False)
        feed[f"x{n}"] = array
    return feed


def check(names: list[str], feed: dict[str, Any], results: dict[str, Any]) -> None:
    assert list(results) == [f"y{n}" for n in range(len(names))]
    for n, name in enumerate(names):
        assert same_bits(results[f"y{n}"], expected(name, feed[f"x{n}"])), (name, feed[f"x{n}"].strides)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), signature=signatures(), seed=st.integers(0, 10_000))
def test_any_arrays_give_what_ort_gives_on_clean_copies(
    folder: Path, data: st.DataObject, signature: list[tuple[str, tuple[int, ...]]], seed: int
) -> None:
    names = [name for name, _ in signature]
    runner = opened(folder, tuple(names), tuple(len(shape) for _, shape in signature))
    kept: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for turn in range(4):  # plainly, then a binding is built, then used
        feed = laid_out(data.draw, signature, seed + 100 * turn)
        before = {n: (a.tobytes(), a.strides, a.flags.writeable) for n, a in feed.items()}
        how = data.draw(st.sampled_from(["run", "out", "borrow", "one"]))
        if how == "run":
            results = runner.run(feed)
            kept.append((feed, results))
        elif how == "out":
            out = {"y0": runner.output_buffer("y0", signature[0][1])}
            results = runner.run(feed, out=out)
            assert results["y0"] is out["y0"]
        elif how == "one":
            results = runner.run(feed, outputs=["y0"])
            assert list(results) == ["y0"]
            results = {**runner.run(feed), **results}
            results = {n: results[n] for n in sorted(results)}
        else:
            with runner.borrow(feed) as lent:
                check(names, feed, lent)
                results = {n: a.copy() for n, a in lent.items()}
        check(names, feed, results)
        clean = {n: np.array(a, order="C", subok=False) for n, a in feed.items()}
        native = {n: a.astype(a.dtype.newbyteorder("="), copy=False) for n, a in clean.items()}
        for ours, theirs in zip(results.values(), runner.session.run(None, native), strict=True):
            assert same_bits(ours, theirs)
        assert {n: (a.tobytes(), a.strides, a.flags.writeable) for n, a in feed.items()} == before
    for feed, results in kept:  # the caller's own, for ever
        check(names, feed, results)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), signature=signatures((*FOREIGN, "float32")), seed=st.integers(0, 10_000))
def test_types_that_numpy_lacks_come_out_bit_by_bit(
    folder: Path, data: st.DataObject, signature: list[tuple[str, tuple[int, ...]]], seed: int
) -> None:
    pytest.importorskip("ml_dtypes", reason="ml_dtypes gives numpy these types; it is not installed")
    names = [name for name, _ in signature]
    runner = opened(folder, tuple(names), tuple(len(shape) for _, shape in signature))
    for turn in range(2):
        feed = laid_out(data.draw, signature, seed + turn, orders=False)
        before = {n: a.tobytes() for n, a in feed.items()}
        check(names, feed, runner.run(feed))
        with runner.borrow(feed) as lent:
            check(names, feed, lent)
        out = {"y0": np.zeros(signature[0][1], dtype_of(names[0]))}
        check(names, feed, runner.run(feed, out=out))
        assert same_bits(out["y0"], expected(names[0], feed["x0"]))
        assert {n: a.tobytes() for n, a in feed.items()} == before


# ── four threads ─────────────────────────────────────────────────────────────────────────────


def test_four_threads_with_changing_shapes_get_their_own_answers(tmp_path: Path) -> None:
    faulthandler.enable()
    runner = hotlap.open(tiny.save(tiny.add_pair(), tmp_path / "m.onnx"), threads=1)
    wrong: list[Any] = []
    calls = 2500

    def work(thread: int) -> None:
        rng = np.random.default_rng(thread)
        for n in range(calls):
            rows, columns = int(rng.integers(0, 5)), int(rng.choice([1, 3, 8, 20_000]))
            a = np.full((rows, columns), thread * calls + n, np.float32)
            b = np.full((rows, columns), 1, np.float32)
            if n % 5 == 4:
                with runner.borrow({"a": a, "b": b}) as lent:
                    c = lent["c"].copy()
            elif n % 7 == 6:
                c = runner.output_buffer("c", (rows, columns))
                runner.run({"a": a, "b": b}, out={"c": c})
            else:
                c = runner.run({"a": a, "b": b})["c"]
            if c.shape != a.shape or (c != a + 1).any():
                wrong.append((thread, n))

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_four_threads_on_the_same_models_with_arrays_of_every_kind(folder: Path) -> None:
    faulthandler.enable()
    rng = np.random.default_rng(0)
    shapes = [(), (0, 3), (4,), (2, 3), (70_000,)]
    signatures = []
    for _ in range(8):
        names = [str(n) for n in rng.choice(NUMPY, int(rng.integers(1, 6)))]
        signatures.append([(n, shapes[int(rng.integers(len(shapes)))]) for n in names])
        opened(folder, tuple(names), tuple(len(shape) for _, shape in signatures[-1]))
    wrong: list[Any] = []

    def work(thread: int) -> None:
        mine = np.random.default_rng(thread)
        for turn in range(120):
            signature = signatures[int(mine.integers(len(signatures)))]
            names = [name for name, _ in signature]
            runner = opened(folder, tuple(names), tuple(len(shape) for _, shape in signature))
            feed = {}
            for n, (name, shape) in enumerate(signature):
                array = LAYOUTS[str(mine.choice(sorted(LAYOUTS)))](
                    values(name, shape, 1000 * thread + turn + n)
                )
                feed[f"x{n}"] = (
                    array.astype(array.dtype.newbyteorder(">")) if mine.integers(4) == 0 else array
                )
            try:
                if turn % 3:
                    check(names, feed, runner.run(feed))
                else:
                    with runner.borrow(feed) as lent:
                        check(names, feed, lent)
            except Exception as error:  # noqa: BLE001  told below, by the thread that can fail the test
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_inputs_are_only_read_on_every_provider_that_loads(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    for provider in usable_providers():
        runner = hotlap.open(path, providers=dict.fromkeys([provider, "cpu"]), threads=1)  # type: ignore[arg-type]
        for rows in (1, 1, 1, 3_000, 3_000):
            x = np.random.default_rng(rows).standard_normal((rows, 16), np.float32)
            before = x.tobytes()
            y = runner(x)
            with runner.borrow({"x": x}) as lent:
                assert (lent["y"] == y).all()
            step = runner.step({"x": x.shape})
            step.inputs["x"][...] = x
            assert (step()["y"] == y).all() and step.inputs["x"].tobytes() == before
            assert x.tobytes() == before, provider


# ── shapes that come, change, lie ─────────────────────────────────────────────────────────────────────


@pytest.fixture
def add(tmp_path: Path) -> Runner:
    return hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1)


def bound(runner: Runner) -> int:
    """How many signatures this thread holds bindings for."""
    live = runner._live
    assert live is not None
    return len(live.store().bound)


def test_changing_shapes_are_right_with_a_binding_and_without(add: Runner) -> None:
    for n in (2, 3, 1, 2, 3, 1, 2, 3, 1):
        x = np.random.default_rng(n).random((n, 4), np.float32)
        assert (add(x) == 2 * x).all()
    assert bound(add) == 3


def test_a_new_array_is_what_is_run_not_the_last_one(add: Runner) -> None:
    x = np.full((1, 4), 1, np.float32)
    for _ in range(3):
        add(x)
    x = np.full((1, 4), 100, np.float32)
    assert add(x).tolist() == [[200] * 4]


def test_kept_results_stay_as_they_were(add: Runner) -> None:
    x = np.ones((1, 4), np.float32)
    kept = []
    for value in (1, 2, 3, 4, 5):
        x[:] = value
        kept.append(add(x))
    assert [k[0, 0] for k in kept] == [2, 4, 6, 8, 10]


def test_answers_outlive_the_runner(tmp_path: Path) -> None:
    import gc

    kept = []
    for rows in (1, 60_000):
        runner = hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1)
        x = np.full((rows, 4), rows, np.float32)
        kept += [(rows, runner(x)) for _ in range(3)]
        if hasattr(onnxruntime.OrtValue, "__dlpack__"):
            kept.append((rows, np.from_dlpack(runner.run_dlpack({"x": x})["y"])))
        else:
            with pytest.raises(Unavailable, match=r"lends no DLPack: it needs 1\.26"):
                runner.run_dlpack({"x": x})
        step = runner.step({"x": x.shape})
        step.inputs["x"][...] = x
        kept.append((rows, step()["y"]))
        runner.close()
        del runner, step
        gc.collect()
    fill = [np.zeros((60_000, 4), np.float32) for _ in range(10)]
    assert all((y == 2 * rows).all() for rows, y in kept) and fill


def test_a_thread_that_ended_leaves_nothing_behind(tmp_path: Path) -> None:
    add = hotlap.open(tiny.save(tiny.add(), tmp_path / "m.onnx"), threads=1)

    def work() -> None:
        for _ in range(3):
            add(np.ones((1, 4), np.float32))

    for _ in range(20):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    live = add._live
    assert live is not None and len(live.stores) <= 3


def test_only_so_many_signatures_are_kept(add: Runner) -> None:
    for _ in range(3):
        for n in range(MOST_SIGNATURES + 5):
            assert add(np.ones((n, 4), np.float32)).shape == (n, 4)
    assert bound(add) <= MOST_SIGNATURES


def test_no_binding_keeps_a_callers_array_alive(add: Runner) -> None:
    import gc
    import weakref

    for shape in ((1, 4), (50_000, 4)):
        for _ in range(3):
            x = np.ones(shape, np.float32)
            alive = weakref.ref(x)
            add.run({"x": x})
            del x
            gc.collect()
            assert alive() is None


def model_of(nodes: list[Any], outputs: list[Any], **weights: Any) -> onnx.ModelProto:
    return tiny.model(nodes, [tiny.info("x", T.FLOAT, ["N"])], outputs, weights)


def test_a_shape_that_depends_on_the_values_is_right_each_time(tmp_path: Path) -> None:
    for dim in ("found", None):  # named otherwise than any input's axis, or not named at all
        built = model_of([tiny.node("NonZero", ["x"], ["y"])], [tiny.info("y", T.INT64, [1, dim])])
        runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), threads=1)
        for n in (4, 4, 4, 2, 4, 0, 1, 3, 3, 3):
            x = np.array([1] * n + [0] * (4 - n), np.float32)
            assert runner.run({"x": x})["y"].tolist() == [list(range(n))]
            with runner.borrow({"x": x}) as lent:
                assert lent["y"].tolist() == [list(range(n))]
        assert runner._live is not None and runner._live.changing == {"y"}, "learnt once and for all"


def test_a_declared_shape_that_is_not_the_real_one(tmp_path: Path) -> None:
    built = model_of(
        [tiny.node("Reshape", ["x", "s"], ["y"])], [tiny.info("y", T.FLOAT, ["N", 1])], s=np.array([-1, 2])
    )
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), threads=1)
    for _ in range(4):
        assert runner(np.arange(4, dtype=np.float32)).tolist() == [[0, 1], [2, 3]]


def test_an_output_that_is_an_input_itself_is_a_copy(tmp_path: Path) -> None:
    built = model_of(
        [tiny.node("Neg", ["x"], ["y"])], [tiny.info("x", T.FLOAT, ["N"]), tiny.info("y", T.FLOAT, ["N"])]
    )
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), threads=1)
    assert runner.path == "bound"
    for n in (3, 3, 3, 50_000, 50_000, 50_000):
        x = np.arange(n, dtype=np.float32)
        results = runner.run({"x": x})
        assert list(results) == ["x", "y"]
        assert (results["x"] == x).all() and (results["y"] == -x).all()
        assert not np.shares_memory(results["x"], x)
        out = np.zeros_like(x)
        runner.run({"x": x}, out={"x": out})
        assert (out == x).all()
        with runner.borrow({"x": x}) as lent:
            assert (lent["x"] == x).all() and not np.shares_memory(lent["x"], x)


def test_a_model_that_only_passes_its_inputs_through(tmp_path: Path) -> None:
    built = model_of([tiny.node("Neg", ["x"], ["unused"])], [tiny.info("x", T.FLOAT, ["N"])])
    runner = hotlap.open(tiny.save(built, tmp_path / "m.onnx"), threads=1)
    assert runner.path == "plain" and "passed through" in runner.path.why
    x = np.ones(3, np.float32)
    y = runner.run({"x": x})["x"]
    assert y.tolist() == [1, 1, 1] and not np.shares_memory(x, y)


def test_an_output_listed_twice_is_one(tmp_path: Path) -> None:
    y = tiny.info("y", T.FLOAT, ["N"])
    runner = hotlap.open(
        tiny.save(model_of([tiny.node("Neg", ["x"], ["y"])], [y, y]), tmp_path / "m.onnx"), threads=1
    )
    for _ in range(3):
        assert runner.run({"x": np.ones(2, np.float32)})["y"].tolist() == [-1, -1]


def test_a_model_without_inputs_and_one_with_many(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.no_input(), tmp_path / "m.onnx"))
    for _ in range(3):
        y = runner.run({})["y"]
        assert y.tolist() == [1, 1]
        y[:] = 7
    many = hotlap.open(tiny.save(tiny.many_inputs(64), tmp_path / "many.onnx"))
    feed = {f"x{n}": np.full(4, n, np.float32) for n in range(64)}
    for _ in range(3):
        assert many.run(feed)["y"].tolist() == [64 * 63 / 2] * 4


def test_arrays_of_one_feed_may_overlap(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.add_pair(), tmp_path / "m.onnx"), threads=1)
    for columns in (3, 3, 3, 20_000, 20_000):
        memory = np.arange(columns + 1, dtype=np.float32)
        a, b = memory[None, :-1], memory[None, 1:]
        assert (runner.run({"a": a, "b": b})["c"] == a + b).all()
        assert (runner.run({"a": a, "b": a})["c"] == a + a).all()


def test_a_call_within_a_call_of_the_same_thread_has_buffers_of_its_own(add: Runner) -> None:
    """A signal handler or a finalizer may come at any time, also while the buffers are filled."""
    inner: list[Any] = []

    class Feed(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            inner.append(add(np.full((1, 4), 5, np.float32)))
            return super().__getitem__(name)

    x = np.ones((1, 4), np.float32)
    for _ in range(3):
        add(x)
        assert add.run(Feed(x=x))["y"].tolist() == [[2] * 4]
    assert all(y.tolist() == [[10] * 4] for y in inner)
    with add.borrow({"x": x}) as outer, add.borrow({"x": 2 * x}) as second:
        third = add(3 * x)
        assert (outer["y"][0, 0], second["y"][0, 0], third[0, 0]) == (2, 4, 6)


def test_what_the_model_refuses_is_refused_with_a_binding_too(tmp_path: Path) -> None:
    runner = hotlap.open(tiny.save(tiny.gather_mask(rows=10), tmp_path / "m.onnx"), threads=1)
    good = {"ids": np.zeros((1, 4), np.int64), "mask": np.ones((1, 4), np.int64)}
    bad = {**good, "ids": np.full((1, 4), 99)}
    for feed in (good, good, good, bad, good, good, good, bad):
        if feed is bad:
            with pytest.raises(InputError, match="node Gather: indices element out of data bounds"):
                runner.run(feed)
        else:
            assert runner.run(feed)["y"].shape == (1, 4, 8)
    assert bound(runner) == 1, "a feed that the model refuses says nothing against the binding"


def test_the_check_holds_in_the_fast_way_too(add: Runner) -> None:
    x = np.ones((1, 4), np.float32)
    for _ in range(3):
        add(x)
    for wrong in (x.astype(np.float64), x[0], np.ones((1, 5), np.float32), None, x.astype(object), "text"):
        with pytest.raises(InputError):
            add.run({"x": wrong})
    for feed in ({}, {"x": x, "z": x}, {"z": x}, [x], None):
        with pytest.raises(InputError):
            add.run(feed)  # type: ignore[arg-type]
    assert add.run({"x": np.float32(1) + x}).keys() == {"y"}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    words=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), max_size=12),
    layout=st.sampled_from(sorted(set(LAYOUTS) - {"unaligned"})),  # a reference cannot lie unaligned
    columns=st.sampled_from([0, 1, 2, 3]),
    fixed=st.booleans(),
)
def test_text_of_any_layout_gives_what_ort_gives_on_clean_copies(
    folder: Path, words: list[str], layout: str, columns: int, fixed: bool
) -> None:
    path = folder / "text-and-number.onnx"
    if not path.exists():
        nodes = [tiny.node("Identity", ["s"], ["t"]), tiny.node("Add", ["x", "x"], ["y"])]
        inputs = [tiny.info("s", T.STRING, [None, None]), tiny.info("x", T.FLOAT, [None])]
        outputs = [tiny.info("t", T.STRING, [None, None]), tiny.info("y", T.FLOAT, [None])]
        tiny.save(tiny.model(nodes, inputs, outputs), path)
    rows = len(words) // columns if columns else 0
    clean = np.array(words[: rows * columns], dtype=object).reshape(rows, columns)
    fed = clean.astype(np.str_) if fixed and clean.size else clean
    text, number = LAYOUTS[layout](fed), np.ones(2, np.float32)
    want = np.array(text, dtype=object, subok=False)  # broadcast repeats its first row
    with hotlap.open(path, threads=1, warm=False) as runner:
        assert runner.path == "plain"
        for results in (runner.run({"s": text, "x": number}), dict(runner.run({"x": number, "s": text}))):
            theirs = runner.session.run(None, {"s": np.array(want, order="C"), "x": number})
            assert results["t"].tolist() == theirs[0].tolist() == want.tolist()
            assert same_bits(results["y"], theirs[1])

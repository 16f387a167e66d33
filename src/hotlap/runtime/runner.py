"""The Runner: a loaded model, ready to be called from any number of threads."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hotlap.cpus import usable_threads
from hotlap.errors import HotlapError, InputError, ModelError, PlanError, Unavailable, UsageError
from hotlap.runtime import forks, ort
from hotlap.runtime.arrays import as_arrays
from hotlap.runtime.arun import Workers
from hotlap.runtime.borrow import Loan
from hotlap.runtime.copies import Copies
from hotlap.runtime.face import Array, Face, limits_of
from hotlap.runtime.feeds import find_feed, make_feed
from hotlap.runtime.limits import NONE, Cancel, Limits, Watched
from hotlap.runtime.live import Live, not_bound
from hotlap.runtime.modelfile import ranked_names
from hotlap.runtime.options import run_options
from hotlap.runtime.packed import value_of
from hotlap.runtime.prebinding import bind_step, bind_stream, read_state
from hotlap.runtime.recipe import Recipe
from hotlap.runtime.session import Loaded
from hotlap.runtime.step import Step
from hotlap.runtime.wiring import Path as Way
from hotlap.runtime.wiring import Wiring
from hotlap.tensors import TensorSpec

__all__ = ["Runner", "signature"]

log = logging.getLogger("hotlap.runtime")


class _Unbound:
    """Stands in for a thread's fast function while there is no session."""

    fast = staticmethod(not_bound)


class Runner(Face):
    """A model loaded as its plan says; made by `hotlap.open`.

    It can be pickled, as its recipe: the copy opens the model at its first call.
    """

    def __init__(self, recipe: Recipe, loaded: Loaded | None = None) -> None:
        self._recipe = recipe.anywhere()
        self.plan, self.model_path, self.debug = recipe.plan, recipe.model, recipe.debug
        self._copies = Copies()
        self._building = threading.RLock()  # a signal handler that calls may come while it is held
        self._ended: UsageError | None = None
        self._live: Live | None = None
        self._local: Any = _Unbound
        # Those that somebody holds. A set of references: a finalizer may come at any line, and each change of
        # it is one step of the interpreter, without a lock.
        self._steps: set[weakref.ref[Step]] = set()
        if loaded is not None:
            self._settle(loaded)
        forks.watch(self)

    def run(
        self,
        feed: Mapping[str, Any],
        outputs: Sequence[str] | None = None,
        out: Mapping[str, Any] | None = None,
        *,
        cast: bool = False,
        deadline: float | None = None,
        cancel: Cancel | None = None,
        log_id: str | None = None,
        severity: int | None = None,
    ) -> dict[str, Any]:
        if (
            outputs is None
            and out is None
            and not cast
            and deadline is None
            and cancel is None
            and log_id is None
            and severity is None
        ):
            try:
                result = self._local.fast(feed)
                if result is None and (live := self._live) is not None:
                    result = live.again(feed)
            except HotlapError:  # of a signal handler, as all that is not ORT's
                raise
            except ort.raised() as error:
                return self._again_plainly(feed, error)
            if result is not None:
                return result  # type: ignore[no-any-return]
        return super().run(
            feed, outputs, out, cast=cast, deadline=deadline, cancel=cancel, log_id=log_id, severity=severity
        )

    run.__doc__ = Face.run.__doc__

    def borrow(
        self,
        feed: Mapping[str, Any],
        outputs: Sequence[str] | None = None,
        *,
        cast: bool = False,
        deadline: float | None = None,
        cancel: Cancel | None = None,
        log_id: str | None = None,
        severity: int | None = None,
    ) -> Loan:
        plain = outputs is None and not cast and limits_of(deadline, cancel, log_id, severity) is NONE
        if plain and (live := self._live) is not None:
            try:
                lent = live.lend_again(feed)
            except HotlapError:
                raise
            except ort.raised() as error:
                return Loan(self._again_plainly(feed, error), lambda: None, self.debug)
            if lent is not None:
                return Loan(*lent, self.debug)
        return super().borrow(
            feed, outputs, cast=cast, deadline=deadline, cancel=cancel, log_id=log_id, severity=severity
        )

    borrow.__doc__ = Face.borrow.__doc__

    def run_dlpack(self, feed: Mapping[str, Any], outputs: Sequence[str] | None = None) -> dict[str, Any]:
        names = self._asked(outputs)
        live = self._alive()
        if not live.wiring.bound:
            return self.run(feed, outputs)
        module = ort.load()
        if not hasattr(module.OrtValue, "__dlpack__"):
            raise Unavailable(f"onnxruntime {module.__version__} lends no DLPack: it needs 1.26 or newer")
        arrays = as_arrays(self.inputs, feed, copies=self._copies)
        results = self._governed(NONE, lambda options: live.loose(arrays, options, raw=True))
        return {n: results[n] for n in names}

    run_dlpack.__doc__ = Face.run_dlpack.__doc__

    def input_buffer(self, name: str, shape: Sequence[int]) -> Array:
        # A view: giving it another shape leaves the memory and what is bound to it alone.
        buffer = super().input_buffer(name, shape).view()
        live = self._alive()
        live.store().own[id(buffer)] = buffer
        live.forget_last()
        return buffer

    input_buffer.__doc__ = Face.input_buffer.__doc__

    def step(self, shapes: Mapping[str, Sequence[int]]) -> Step:
        live = self._alive()
        if not (live.wiring.bound and live.wiring.quick):
            step = super().step(shapes)
        else:
            inputs = self._step_inputs(shapes)
            step = bind_step(live, inputs, self._call(self._names, inputs, NONE))
        self._steps.add(weakref.ref(step, self._steps.discard))
        if self._ended is not None:  # since it was begun
            step.end(self._ended)
            raise self._ended
        return step

    step.__doc__ = Face.step.__doc__

    @property
    def path(self) -> Way:
        return self._alive().wiring.path

    @property
    def session(self) -> Any:
        """ORT's own session, for what hotlap does not cover.

        Raises:
            UsageError: the runner is closed.
        """
        return self._alive().session

    def warm(self) -> None:
        """Runs the model once for each of the plan's warm shapes, or once on a feed made from its signature.

        Raises:
            PlanError: a shape that the plan lists does not fit the model. A made feed that does not run is
                a note and a line in the log: a signature does not say everything.
        """
        if not self.plan.warm:
            self._warm_on_a_guess()
        for shapes in self.plan.warm:
            try:
                self._warm_on(make_feed(self.inputs, shapes=shapes))
            except InputError as error:
                raise PlanError(f"warm: {_label(shapes)}: {'; '.join(error.problems)}") from error

    def _warm_on_a_guess(self) -> None:
        try:
            find_feed(self._warm_on, self.inputs)
        except InputError as error:
            note = (
                f"not warmed: no made feed runs ({error.problems[0]}); list shapes under `warm` in the plan"
            )
            self.notes = (*self.notes, note)
            log.warning("%s: %s", self.model_path, note)

    def _warm_on(self, feed: dict[str, Any]) -> None:
        live = self._alive()
        if live.wiring.quick or not live.wiring.bound:
            self.run(feed)
            return
        # As ORT's values: as arrays, answers of a type that numpy lacks would need ml_dtypes.
        arrays = as_arrays(self.inputs, feed, copies=self._copies)
        self._governed(NONE, lambda options: live.loose(arrays, options, raw=True))

    # ── lifecycle ─────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        self._end(self._closed())
        self._workers.close()

    def __reduce__(self) -> tuple[Callable[..., Runner], tuple[Recipe, dict[str, Any]]]:
        shown = ("inputs", "outputs", "placement", "notes", "threads")
        return _revive, (self._recipe, {name: getattr(self, name) for name in shown})

    def __repr__(self) -> str:
        takes = ", ".join(f"{s.name} {s.label}" for s in self.inputs)
        gives = ", ".join(f"{s.name} {s.label}" for s in self.outputs)
        state = "" if self._live is not None else ", not loaded" if self._ended is None else ", closed"
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        how = f"{'+'.join(self.providers)}, {threads}, spin {self.plan.spin}{state}"
        return f"<Runner {self.model_path.name}: {how}; {takes} -> {gives}>"

    def _settle(self, loaded: Loaded) -> None:
        inputs, outputs = signature(loaded.session, self.model_path)
        shown = {"inputs": inputs, "outputs": outputs, "placement": loaded.placement}
        self._show({**shown, "notes": loaded.notes, "threads": loaded.threads})
        wiring = Wiring(inputs, outputs, loaded.session, self.plan)
        live = Live(loaded.session, wiring, run_options(self.plan, loaded.folder))
        self._live, self._local = live, live.local

    def _show(self, shown: Mapping[str, Any]) -> None:
        for name, value in shown.items():
            setattr(self, name, value)
        self.providers = tuple(self.placement)
        self._names = [s.name for s in self.outputs]
        count = self._recipe.workers or max(1, usable_threads() // self.threads)
        self._workers = Workers(count, self._recipe.waiting)

    def _alive(self) -> Live:
        """The session, built where that is still to be done."""
        live = self._live  # close() in another thread must not take it away half-way
        if live is not None:
            return live
        with self._building:
            if self._ended is not None:
                raise self._ended
            if self._live is None:
                self._settle(self._recipe.load())
            live = self._live
            # `close` does not wait for what is built, so it may have come meanwhile.
            if self._ended is not None:
                self._live, self._local = None, _Unbound
                self._workers.close()
                raise self._ended
            assert live is not None
            return live

    def _end(self, error: UsageError) -> None:
        self._ended = error
        self._live, self._local = None, _Unbound
        steps = self._living_steps()
        self._steps = set()
        for step in steps:
            step.end(error)

    def _living_steps(self) -> list[Step]:
        return [step for one in list(self._steps) if (step := one()) is not None]

    def _after_fork(self) -> None:
        """In the child."""
        live = self._live
        self._building = threading.RLock()
        self._copies = Copies()
        if live is not None:
            forks.abandon(live, live.session, live.stores, live.local, *self._living_steps())
            error = UsageError(
                f"this runner of {self.model_path.name} was opened before this process was forked, and its "
                'threads stayed behind: open the model here, or open it with on_fork="rebuild"'
            )
            self._end(error)
            if self._recipe.on_fork == "rebuild":
                self._ended = None
        forks.abandon(self._workers)
        self._workers = Workers(
            self._recipe.workers or max(1, usable_threads() // self.threads), self._recipe.waiting
        )

    # ── what Face asks for ────────────────────────────────────────────────────────────────────────────

    def _call(self, names: list[str], arrays: dict[str, Any], limits: Limits) -> Mapping[str, Any]:
        live = self._alive()
        results: Mapping[str, Any] = self._governed(limits, lambda options: live.answer(arrays, options))
        return results

    def _run(
        self,
        feed: Mapping[str, Any],
        outputs: Sequence[str] | None,
        out: Mapping[str, Any] | None,
        cast: bool,
        limits: Limits,
    ) -> dict[str, Any]:
        live = self._live
        if live is None or out or cast or not (outputs or limits is not NONE):
            return super()._run(feed, outputs, out, cast, limits)
        names = self._asked(outputs)
        try:
            result = self._watched(limits, lambda options: live.again(feed, options))
        except HotlapError:
            raise
        except ort.raised() as error:
            return {n: v for n, v in self._again_plainly(feed, error, limits).items() if n in names}
        if result is None:
            return super()._run(feed, outputs, out, cast, limits)
        return {n: result[n] for n in names}

    def _again_plainly(
        self, feed: Mapping[str, Any], error: Exception, limits: Limits = NONE
    ) -> dict[str, Any]:
        """After the fast way failed with the error: the feed is checked in full, and ORT's plain run has the
        last word."""
        live = self._alive()
        arrays = as_arrays(self.inputs, feed, copies=self._copies)
        results = self._governed(limits, lambda options: live.retry(arrays, options, error))
        return {n: results[n] for n in self._names}

    def _call_into(
        self, names: list[str], arrays: dict[str, Any], targets: Mapping[str, Any], limits: Limits
    ) -> Mapping[str, Any]:
        live = self._alive()
        if not live.wiring.bound or live.wiring.echoes & targets.keys():
            return super()._call_into(names, arrays, targets, limits)
        specs = {s.name: s for s in self.outputs}
        values = {n: value_of(specs[n], t) for n, t in targets.items()}
        try:
            results: Mapping[str, Any] = self._governed(
                limits, lambda options: live.loose(arrays, options, values)
            )
            return results
        except InputError as error:
            # ORT says that a shape is wrong in words about its own insides.
            shapes = {n: np.shape(a) for n, a in self._call(self._names, arrays, limits).items()}
            wrong = [
                f'out "{n}": got shape {list(t.shape)}, the model gives {list(shapes[n])}'
                for n, t in targets.items()
                if t.shape != shapes[n]
            ]
            raise InputError(wrong or error.problems) from error

    def _lend(self, arrays: dict[str, Any], limits: Limits) -> tuple[Mapping[str, Any], Callable[[], None]]:
        live = self._alive()
        loan: tuple[Mapping[str, Any], Callable[[], None]] = self._governed(
            limits, lambda options: live.lend(arrays, options)
        )
        return loan

    def _shapes(self, arrays: Mapping[str, Any]) -> Mapping[str, tuple[int, ...]] | None:
        return self._alive().shapes_of(arrays)

    def _stream(self, state: dict[str, str]) -> Callable[..., Any]:
        live = self._alive()
        if not live.wiring.bound:
            return super()._stream(state)
        once = bind_stream(live, state)

        def governed(arrays: dict[str, Any], values: dict[str, Any]) -> Any:
            if self._live is not live:
                raise self._ended or self._closed()
            return self._governed(NONE, lambda options: once(arrays, values, options))

        return governed

    def _read(self, value: Any) -> Any:
        return read_state(value)

    def _governed(self, limits: Limits, call: Callable[[Any], Any]) -> Any:
        """The call's answer within its limits; what ORT raises, as ours."""
        try:
            return self._watched(limits, call)
        except HotlapError:
            raise
        except ort.raised() as error:
            raise ort.run_error(error) from error

    def _watched(self, limits: Limits, call: Callable[[Any], Any]) -> Any:
        """The call's answer within its limits; what ORT raises as it is, unless the limits were why."""
        if limits is NONE:
            return call(self._alive().options)
        options = run_options(self.plan, self._recipe.folder, limits.log_id, limits.severity)
        if not limits.stops:
            return call(options)
        with Watched(limits, lambda: setattr(options, "terminate", True)) as watched:
            try:
                return call(options)
            except ort.raised() as error:
                if watched.why is not None:
                    raise watched.why from error
                raise


def _revive(recipe: Recipe, shown: dict[str, Any]) -> Runner:
    runner = Runner(recipe)
    runner._show(shown)
    return runner


def signature(session: Any, path: Path) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """The inputs and the outputs of a session that was loaded from the file at `path`.

    Raises:
        ModelError: one of them has a name, or an axis a symbol, that is no text: Python cannot ask for it.
    """
    try:
        return _signature(session, path)
    except UnicodeDecodeError as error:
        raise ModelError(
            f"{path}: the name of an input, an output or an axis is not UTF-8, so no caller can name it; "
            "rename it and export again"
        ) from error


def _signature(session: Any, path: Path) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    nodes = (session.get_inputs(), session.get_outputs())
    # Only the file tells a scalar from a tensor whose number of axes nobody declared.
    doubtful = any(n.type.startswith("tensor") and not n.shape for side in nodes for n in side)
    ranked = ranked_names(path) if doubtful else frozenset()

    def spec(node: Any) -> TensorSpec:
        known = node.shape or not node.type.startswith("tensor") or node.name in ranked
        return TensorSpec.declared(node.name, node.type, node.shape if known else None)

    inputs, outputs = (tuple(map(spec, side)) for side in nodes)
    return inputs, outputs


def _label(shapes: Any) -> str:
    return ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())

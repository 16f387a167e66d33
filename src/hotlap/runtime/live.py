"""A session with its bindings: one set for each thread, a few signatures in each.

The first call of a signature runs plainly and shows the outputs' shapes; the second, if it comes soon, builds
the binding. So shapes that never come again cost no more than ORT's own `run`.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hotlap.runtime import ort
from hotlap.runtime.check import Call, key_for
from hotlap.runtime.packed import array_of, copy_of, value_of
from hotlap.runtime.signature import bind
from hotlap.runtime.wiring import Wiring
from hotlap.tensors import TensorSpec

__all__ = ["Live", "as_answer", "not_bound"]

log = logging.getLogger("hotlap.runtime")

Array = npt.NDArray[Any]
Key = tuple[Any, ...]
"""For each input its shape; for an array of `input_buffer` its id and its shape, which the caller may
change, while another array may get the id."""
Shapes = dict[str, tuple[int, ...]]

MOST_SIGNATURES = 32
"""Bindings that a thread keeps, and signatures that it remembers to have seen once. More shapes than this in
turn are run plainly, which is better than building bindings that are thrown away before they are used."""
MOST_FAILURES = 3
"""Bound runs that fail one after another, where the plain run does not, until nothing is bound any more."""
MOST_LOANS = 8
"""Bindings kept whose outputs are lent: these keep large outputs too."""


def not_bound(feed: Any, options: Any = None) -> dict[str, Any] | None:
    """What stands in for the fast function where nothing is bound yet."""
    return None


class _Bound(NamedTuple):
    call: Call
    shapes: Shapes


class _Store:
    """Of one thread."""

    def __init__(self) -> None:
        self.bound: OrderedDict[Key, _Bound] = OrderedDict()
        self.seen: OrderedDict[Key, Shapes] = OrderedDict()  # of the outputs
        self.loans: OrderedDict[Key, list[_Bound]] = OrderedDict()
        self.own: weakref.WeakValueDictionary[int, Array] = weakref.WeakValueDictionary()


class _Mark:
    """Goes when its thread does."""


class _Local(threading.local):
    """`fast` is the function of the signature that this thread ran last."""

    fast: Call = staticmethod(not_bound)
    store: _Store | None = None
    mark: _Mark


class Live:
    """See the module.

    Args:
        session: ORT's.
        options: ORT's run options of calls that bring none.
    """

    def __init__(self, session: Any, wiring: Wiring, options: Any) -> None:
        self.session = session
        self.wiring = wiring
        self.options = options
        self.local = _Local()
        # By a reference to the thread's mark. Strong: in a forked child nothing of another thread may be
        # destroyed.
        self.stores: dict[weakref.ref[_Mark], _Store] = {}
        self.changing = _not_from_inputs(
            wiring
        )  # outputs whose shape depends on more than the inputs' shapes
        self.names = [s.name for s in wiring.outputs]
        self._key = key_for(
            [s.name for s in wiring.inputs], [s.dtype and s.dtype.numpy for s in wiring.inputs]
        )
        self._quick = wiring.bound and wiring.quick
        self._failures = 0  # of bound runs, since one of a new binding went well

    # ── running ───────────────────────────────────────────────────────────────────────────────────────

    def again(self, feed: Any, options: Any = None) -> dict[str, Any] | None:
        """The answer, where this thread holds a binding for the feed's signature; else None."""
        store = self.local.store
        if store is None or not self._quick or (key := self._key(feed)) is None:
            return None
        if store.own:
            key = _with_own(store, key, [feed[s.name] for s in self.wiring.inputs])
        bound = store.bound.get(key)
        if bound is None:
            return None
        self.local.fast = bound.call
        return bound.call(feed, options or self.options)

    def answer(self, arrays: dict[str, Any], options: Any) -> dict[str, Any]:
        """Each output by name, for arrays that were checked."""
        if not self.wiring.bound:
            return self._plain(arrays, options)
        if not self.wiring.quick:
            return self.loose(arrays, options)
        store, key = self._place(arrays)
        bound = self._bound(store, key)
        if bound is not None:
            self.local.fast = bound.call
            try:
                result = bound.call(arrays, options)
            except ort.raised() as error:
                return self.retry(arrays, options, error, bound)
            if result is not None:
                self._failures = 0
                return result
        results = self._plain(arrays, options)
        _keep(store.seen, key, {n: a.shape for n, a in results.items()}, MOST_SIGNATURES)
        return results

    def lend(self, arrays: dict[str, Any], options: Any) -> tuple[dict[str, Any], Callable[[], None]]:
        """Each output by name, in memory that is used again after the second thing returned was called."""
        if not (self.wiring.bound and self.wiring.quick):
            return self.answer(arrays, options), _nothing
        store, key = self._place(arrays)
        shapes = self._shapes(store, key)
        free = store.loans.get(key)
        if free is None:
            free = []
            _keep(store.loans, key, free, MOST_LOANS)
        loan = free.pop() if free else None
        if loan is None and shapes is not None and self._quick:
            loan = _Bound(bind(self, key, shapes, store.own, lend=True), shapes)
        if loan is not None:
            try:
                result = loan.call(arrays, options)
            except ort.raised() as error:
                return self.retry(arrays, options, error, loan), _nothing
            if result is not None:
                self._failures = 0
                return result, partial(free.append, loan)
        results = self.loose(arrays, options)
        _keep(store.seen, key, {n: a.shape for n, a in results.items()}, MOST_SIGNATURES)
        return results, _nothing

    def lend_again(self, feed: Any) -> tuple[dict[str, Any], Callable[[], None]] | None:
        """As `lend`, for a feed not checked yet, where this thread holds buffers for its signature."""
        store = self.local.store
        if store is None or not store.loans or not self._quick or (key := self._key(feed)) is None:
            return None
        if store.own:
            key = _with_own(store, key, [feed[s.name] for s in self.wiring.inputs])
        free = store.loans.get(key)
        if not free:
            return None
        loan = free.pop()
        result = loan.call(feed)
        if result is None:  # the array's layout, say, is not one to bind as it lies: the next one's may be
            free.append(loan)
            return None
        return result, partial(free.append, loan)

    def loose(
        self, arrays: dict[str, Any], options: Any, out: Mapping[str, Any] | None = None, raw: bool = False
    ) -> dict[str, Any]:
        """Each output by name, through a binding for this call alone.

        Args:
            arrays: the feed, checked.
            out: ORT's values that outputs are written into, by name.
            raw: outputs as ORT's values, not as arrays; those of `out` are so in any case.
        """
        binding, out = self.session.io_binding(), out or {}
        given = {s.name: value_of(s, arrays[s.name]) for s in self.wiring.inputs}
        for name, value in given.items():
            binding.bind_ortvalue_input(name, value)
        asked = [s for s in self.wiring.outputs if s.name not in self.wiring.echoes]
        for spec in asked:
            if spec.name in out:
                binding.bind_ortvalue_output(spec.name, out[spec.name])
            else:
                binding.bind_output(spec.name)
        self.session.run_with_iobinding(binding, options)
        results = dict(zip((s.name for s in asked), binding.get_outputs(), strict=True))
        results |= self.echoes_of(given)
        return {
            s.name: results[s.name] if raw or s.name in out else as_answer(s, results[s.name])
            for s in self.wiring.outputs
        }

    def retry(
        self, arrays: dict[str, Any], options: Any, error: Exception, bound: _Bound | None = None
    ) -> dict[str, Any]:
        """The answer after a bound run failed with the error. An output may have had another shape than last
        time: the plain run tells, and whatever it raises is the caller's to know."""
        if options.terminate:
            raise RuntimeError("terminated")
        store, key = self._place(arrays)
        bound = bound or store.bound.get(key)
        results = self._plain(arrays, options)
        expected = bound.shapes if bound is not None else {}
        changed = {n for n, shape in expected.items() if results[n].shape != shape}
        self.changing |= changed
        if expected and not changed and not ort.is_short_of_memory(error):
            self._failures += 1
        if self._failures >= MOST_FAILURES and self._quick:
            self._quick = False
            log.warning("this model fails with bound buffers and runs without: nothing is bound any more")
        # Other threads come here by themselves.
        store.bound.clear()
        store.loans.clear()
        self.local.fast = not_bound
        return results

    def shapes_of(self, arrays: Mapping[str, Any]) -> Shapes | None:
        """The outputs' shapes for these inputs, where this thread has seen them."""
        if not (self.wiring.bound and self.wiring.quick):
            return None
        return self._shapes(*self._place(arrays))

    def echoes_of(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Copies of the inputs, ORT's values, that the model lists as outputs too."""
        specs = {s.name: s for s in self.wiring.inputs}
        return {n: copy_of(specs[n], given[n]) for n in self.wiring.echoes}

    def forget_last(self) -> None:
        """The next call of this thread looks its signature up anew."""
        self.local.fast = not_bound

    def store(self) -> _Store:
        """This thread's."""
        store = self.local.store
        if store is None:
            # Python is not asked which threads live: until 3.12 `sys._current_frames` holds a lock of the
            # interpreter that every thread needs to start and to end, while it may collect garbage; whatever
            # that runs then waits for ever.
            for gone in [mark for mark in list(self.stores) if mark() is None]:
                self.stores.pop(gone, None)
            mark = self.local.mark = _Mark()
            store = self.local.store = self.stores[weakref.ref(mark)] = _Store()
        return store

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────

    def _place(self, arrays: Mapping[str, Any]) -> tuple[_Store, Key]:
        store = self.store()
        key = tuple(arrays[s.name].shape for s in self.wiring.inputs)
        return store, _with_own(store, key, list(arrays.values())) if store.own else key

    def _shapes(self, store: _Store, key: Key) -> Shapes | None:
        bound = store.bound.get(key)
        return store.seen.get(key) if bound is None else bound.shapes

    def _bound(self, store: _Store, key: Key) -> _Bound | None:
        bound = store.bound.get(key)
        if bound is not None:
            store.bound.move_to_end(key)
        elif self._quick and (shapes := store.seen.pop(key, None)) is not None:
            bound = _Bound(bind(self, key, shapes, store.own), shapes)
            _keep(store.bound, key, bound, MOST_SIGNATURES)
        return bound

    def _plain(self, arrays: dict[str, Any], options: Any) -> dict[str, Any]:
        if not self.wiring.quick:
            specs = {s.name: s for s in self.wiring.inputs}
            arrays = {n: _given(specs[n], a) for n, a in arrays.items()}
        results = dict(zip(self.names, self.session.run(self.names, arrays, options), strict=True))
        for name in self.wiring.echoes:  # ORT 1.24 gives the input itself
            if isinstance(results[name], np.ndarray):
                results[name] = results[name].copy()
        return results


def as_answer(spec: TensorSpec, value: Any) -> Any:
    """An output as an array; on ORT's own memory, which lives as long as it, where numpy has the type."""
    return value.numpy() if spec.dtype is not None and spec.dtype.numpy is not None else array_of(spec, value)


def _given(spec: TensorSpec, array: Any) -> Any:
    exotic = spec.dtype is not None and spec.dtype.numpy is None
    return value_of(spec, array) if exotic else array


def _with_own(store: _Store, key: Key, values: Sequence[Any]) -> Key:
    return tuple(
        (id(v), shape) if store.own.get(id(v)) is v else shape for shape, v in zip(key, values, strict=True)
    )


def _keep(table: OrderedDict[Key, Any], key: Key, value: Any, most: int) -> None:
    table[key] = value
    if len(table) > most:
        table.popitem(last=False)


def _not_from_inputs(wiring: Wiring) -> set[str]:
    """Outputs with an axis that the model names otherwise than any input's: found while it runs. Of an axis
    without a name nothing is known; such an output is taken to follow the inputs until it does not."""
    symbols = {d for s in wiring.inputs for d in s.shape if isinstance(d, str)}
    return {s.name for s in wiring.outputs if any(isinstance(d, str) and d not in symbols for d in s.shape)}


def _nothing() -> None:
    return None

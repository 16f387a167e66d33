"""Models with a memory: outputs of one call that are inputs of the next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hotlap.errors import InputError, UsageError
from hotlap.runtime.buffers import empty_array, follow, sizes_in
from hotlap.tensors import TensorSpec, nearest

__all__ = ["Stream", "check_pairs", "first_state"]

Arrays = dict[str, Any]
RunOnce = Callable[[Arrays, Arrays], tuple[Arrays, Arrays]]

_LENGTHS = ("past", "seq", "len", "time", "cache", "kv")


class Stream:
    """One stream of calls; made by `stateful`. Each stream has a state of its own; one call at a time.

    Args:
        inputs: the model's, without those of the state.
        state: the specs of the state's inputs.
        initial: what the state begins as; what is missing is zeros.
        once: runs one call: the feed's arrays and the state to the answers and the next state.
        check: the feed as arrays, without the state.
        read: one tensor of the state as an array of the caller's own.
    """

    def __init__(
        self,
        inputs: Sequence[TensorSpec],
        state: Sequence[TensorSpec],
        initial: Mapping[str, Any],
        once: RunOnce,
        check: Callable[[Any], Arrays],
        read: Callable[[Any], Any],
    ) -> None:
        self._inputs, self._specs, self._initial = inputs, state, dict(initial)
        self._once, self._check, self._read = once, check, read
        # A signal handler or a finalizer that comes while it is held must be told, not wait for itself.
        self._lock = threading.RLock()
        self._in_call = False
        self._state: Arrays | None = None

    def run(self, feed: Mapping[str, Any]) -> Arrays:
        """One call with the state of the last one.

        Args:
            feed: the inputs that are no state.

        Returns:
            The outputs that are no state; the caller's own.

        Raises:
            InputError: the feed does not fit.
            UsageError: another thread is in this stream; or the runner is closed.
        """
        if not self._lock.acquire(blocking=False):
            raise _busy()
        try:
            self._not_in_call()
            self._in_call = True
            try:
                arrays = self._check(feed)
                if self._state is None:
                    self._state = first_state(self._specs, self._inputs, arrays, self._initial)
                answers, self._state = self._once(arrays, self._state)
                return answers
            finally:
                self._in_call = False
        finally:
            self._lock.release()

    def reset(self) -> None:
        """The next call begins from the initial state.

        Raises:
            UsageError: this thread is in a call of this stream, as a signal handler may find it.
        """
        with self._lock:
            self._not_in_call()
            self._state = None

    @property
    def state(self) -> Arrays:
        """Input name to a copy of what the next call will read; empty before the first.

        Raises:
            UsageError: as `reset`.
        """
        with self._lock:
            self._not_in_call()
            return {name: self._read(value) for name, value in (self._state or {}).items()}

    def _not_in_call(self) -> None:
        if self._in_call:
            raise _busy()


def _busy() -> UsageError:
    return UsageError("this stream is in a call already: a stream is one call after another")


def check_pairs(
    inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], pairs: Mapping[str, str]
) -> None:
    """Input name to the output that it takes over.

    Raises:
        UsageError: an unknown name, or two tensors that do not go together.
    """
    takes, gives = {s.name: s for s in inputs}, {s.name: s for s in outputs}
    if not pairs:
        raise UsageError('no state named: say stateful({"state": "next_state"})')
    for source, name in pairs.items():
        for what, word, known in (("input", source, takes), ("output", name, gives)):
            if word not in known:
                raise UsageError(
                    f'state: no {what} "{word}"{nearest(word, known)}; there are {", ".join(known)}'
                )
        if takes[source].type != gives[name].type or takes[source].dtype is None:
            raise UsageError(
                f'state: "{source}" is {takes[source].label}, but "{name}" is {gives[name].label}'
            )
    if len(set(pairs.values())) < len(pairs):
        raise UsageError("state: one output cannot be the next value of two inputs")


def first_state(
    state: Sequence[TensorSpec], inputs: Sequence[TensorSpec], arrays: Arrays, initial: Mapping[str, Any]
) -> Arrays:
    """What is given, and zeros for the rest.

    A symbol takes its size from the feed. Other axes begin with no length where their name speaks of one (a
    decoder's past), and are 1 where it does not.

    Raises:
        InputError: a shape that does not fit.
    """
    sizes = sizes_in(inputs, {name: np.shape(a) for name, a in arrays.items()})

    def zeros(spec: TensorSpec) -> Any:
        known = dict(sizes)
        for dim in spec.shape:
            if isinstance(dim, str) and dim not in known:
                known[dim] = 0 if any(word in dim.casefold() for word in _LENGTHS) else 1
        filled = TensorSpec(
            spec.name, spec.type, tuple(1 if d is None else d for d in spec.shape), spec.ranked
        )
        shape = follow(filled, known)
        if shape is None:
            raise InputError(f'state "{spec.name}": its number of axes is unknown: give it an initial value')
        array = empty_array(spec, shape)
        array[...] = 0
        return array

    return {s.name: initial[s.name] if s.name in initial else zeros(s) for s in state}

"""What every runner shows to its callers, whatever runs the model behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hotlap.errors import HotlapError, InputError, UsageError
from hotlap.plan import Plan
from hotlap.runtime import wiring
from hotlap.runtime.arrays import as_arrays
from hotlap.runtime.arun import Workers
from hotlap.runtime.borrow import Loan
from hotlap.runtime.buffers import check_out, empty_array, follow, sizes_in
from hotlap.runtime.copies import Copies
from hotlap.runtime.feeds import make_feed
from hotlap.runtime.limits import NONE, Cancel, Limits
from hotlap.runtime.packed import ForeignTensor
from hotlap.runtime.stateful import Stream, check_pairs
from hotlap.runtime.step import Step, copy_into, stepping
from hotlap.tensors import TensorSpec, nearest

__all__ = ["Face", "limits_of"]

Array = npt.NDArray[Any]

_MOST_NAMES = 64
"""Wrong names that are told; a client may send a million."""


class Face:
    """A loaded model. `Runner` and `FakeRunner` share all of this; what they do not say in a faster way of
    their own goes through `_call`.

    Attributes:
        inputs: name, element type and shape of each input, in the model's order.
        outputs: the same of each output.
        plan: how it was opened.
        model_path: the file.
        providers: short names of the execution providers that really run nodes.
        placement: short name of a provider to the number of nodes that it runs.
        notes: what the caller should know of how it was opened, one line each; often empty.
        threads: threads that work inside one call, the calling one included.
        debug: what `borrow` lent is overwritten after its block.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    plan: Plan
    model_path: Path
    providers: tuple[str, ...]
    placement: dict[str, int]
    notes: tuple[str, ...]
    threads: int
    debug: bool = False
    _names: list[str]
    _copies: Copies
    _workers: Workers

    # ── running ───────────────────────────────────────────────────────────────────────────────────────

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
        """Runs the model once. Any number of threads may call at the same time.

        Args:
            feed: input name to value of the model's element type and shape: a numpy array of any layout and
                byte order, anything that lends CPU memory through DLPack (a torch tensor), an array of
                ml_dtypes, text; lists and numbers where no value is lost. Values are only read.
            outputs: names of the outputs wanted; None: all. ORT computes the whole model in any case; to
                save work, cut the model itself (`onnx.utils.extract_model`).
            out: output name to an array (or a tensor with DLPack) that the answer is written into: of the
                output's type and shape, C-contiguous, writable, sharing no memory with the feed.
            cast: allow casts of inputs that lose nothing (float16 to float32, int32 to int64, …).
            deadline: seconds from now until the answer must be there. ORT looks between two nodes, so one
                long node delays the error.
            cancel: takes the call back, from any thread.
            log_id: prefix of ORT's log lines of this call.
            severity: least severity that this call logs: 0 verbose to 4 fatal.

        Returns:
            Output name to array, in the order asked for. The arrays are the caller's own, for ever; those of
            `out` are the very objects that were given. Sequences and maps come as ORT gives them: a list of
            arrays, a list of dicts.

        Raises:
            InputError: the feed, a name or an array of `out` does not fit: every problem at once.
            DeadlineExceeded, Cancelled: no answer was there in time; the call was taken back.
            UsageError: the runner is closed, or belongs to the process that this one was forked from.
            ProviderUnavailable: the execution provider failed while it ran.
            ModelError: it takes more memory than there is.
            Unavailable: the answer's element type needs ml_dtypes, which is not installed.
        """
        limits = limits_of(deadline, cancel, log_id, severity)
        return self._run(feed, outputs, out, cast, limits)

    def __call__(self, value: Any) -> Any:
        """Runs a model of one input: ``y = runner(x)``.

        Args:
            value: the array for that input.

        Returns:
            The output itself where the model has one, else a dict as from `run`.

        Raises:
            InputError: the model has not exactly one input, or the value does not fit it.
        """
        if len(self.inputs) != 1:
            names = ", ".join(s.name for s in self.inputs) or "none"
            raise InputError(
                f"the model has {len(self.inputs)} inputs ({names}): call run({{name: array, ...}})"
            )
        results = self.run({self.inputs[0].name: value})
        return next(iter(results.values())) if len(results) == 1 else results

    async def arun(
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
        """`run` from an event loop, which goes on meanwhile: the call has a thread of its own.

        Cancelling the task takes the call back. The deadline counts from now, waiting included.

        Raises:
            Overloaded: too many calls wait already.
            What `run` raises.
        """
        cancel = cancel or Cancel()
        limits = limits_of(deadline, cancel, log_id, severity)

        def call() -> dict[str, Any]:
            limits.check()
            return self._run(feed, outputs, out, cast, limits)

        answer: dict[str, Any] = await self._workers.run(call, cancel)
        return answer

    def run_dlpack(self, feed: Mapping[str, Any], outputs: Sequence[str] | None = None) -> dict[str, Any]:
        """`run`, but each answer is an object that lends its memory through DLPack, whatever its type:
        ``torch.from_dlpack(runner.run_dlpack(feed)["y"])`` copies nothing, bfloat16 and float8 included.

        Raises:
            What `run` raises.
        """
        return self.run(feed, outputs)

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
        """``with runner.borrow(feed) as outputs:`` the outputs without a copy, valid inside of the block.

        After it the memory is used again: copy what is to be kept. With `debug` it is overwritten at once.

        Raises:
            What `run` raises.
        """
        names = self._asked(outputs)
        arrays = as_arrays(self.inputs, feed, cast=cast, copies=self._copies)
        results, give_back = self._lend(arrays, limits_of(deadline, cancel, log_id, severity))
        return Loan({n: results[n] for n in names}, give_back, self.debug)

    # ── buffers, prebound calls, state ────────────────────────────────────────────────────────────────

    def input_buffer(self, name: str, shape: Sequence[int]) -> Array:
        """An array for that input, for producers that write straight into it; its values are undefined.

        In the thread that asked for it, `run` reads it where it is, without a copy, however small it is.

        Raises:
            InputError: no such input, or the shape does not fit.
            UsageError: the input has no numpy dtype.
        """
        return empty_array(self._spec(self.inputs, "input", name), shape)

    def output_buffer(self, name: str, shape: Sequence[int] | Mapping[str, Any]) -> Array:
        """An array that ``out={name: …}`` takes; its values are undefined.

        Args:
            shape: the shape; or a feed, whose arrays give the symbols of the declared shape their sizes.

        Raises:
            InputError: no such output, or the shape does not fit.
            UsageError: the feed does not say how large the output will be, or it has no numpy dtype.
        """
        spec = self._spec(self.outputs, "output", name)
        if not isinstance(shape, Mapping):
            return empty_array(spec, shape)
        arrays = as_arrays(self.inputs, shape)
        found = (self._shapes(arrays) or {}).get(name)
        if found is None:
            found = follow(spec, sizes_in(self.inputs, {n: np.shape(a) for n, a in arrays.items()}))
        if found is None:
            raise UsageError(
                f'output "{name}" is {spec.label}: the feed does not say how large that is; give the shape'
            )
        return empty_array(spec, found)

    def step(self, shapes: Mapping[str, Sequence[int]]) -> Step:
        """A prebound call for fixed shapes: the floor of what Python can do.

        Args:
            shapes: input name to its whole shape.

        Returns:
            A function without arguments. Write into its `inputs`, call it, read its `outputs`; they hold
            until its next call.

        Raises:
            InputError: the shapes do not fit the model.
            UsageError: an input has no numpy dtype.
        """
        inputs = self._step_inputs(shapes)
        outputs: dict[str, Any] = {}
        over: list[HotlapError] = []

        def call() -> dict[str, Any]:
            if over:
                raise over[0]
            copy_into(outputs, self.run(inputs))
            return outputs

        return stepping(call, inputs, outputs, over.append)

    def stateful(self, state: Mapping[str, str], initial: Mapping[str, Any] | None = None) -> Stream:
        """A stream of calls in which an output of one call is an input of the next, without a copy.

        Args:
            state: input name to the name of the output that becomes its next value.
            initial: input name to its first value; left out, zeros: symbols sized by the feed, lengths 0,
                other axes of unknown size 1.

        Raises:
            UsageError: names that are not there or tensors that do not go together.
        """
        check_pairs(self.inputs, self.outputs, state)
        first = dict(initial or {})
        unknown = [n for n in first if n not in state]
        if unknown:
            raise UsageError(
                f'state: initial "{unknown[0]}" is no input of the state{nearest(unknown[0], state)}'
            )
        others = [s for s in self.inputs if s.name not in state]
        mine = [s for s in self.inputs if s.name in state]

        def check(feed: Mapping[str, Any]) -> dict[str, Any]:
            return as_arrays(others, feed, copies=self._copies)

        first |= as_arrays([s for s in mine if s.name in first], first)
        return Stream(others, mine, first, self._stream(dict(state)), check, self._read)

    # ── what it tells, and its end ────────────────────────────────────────────────────────────────────

    @property
    def path(self) -> wiring.Path:
        """ "bound" where inputs and outputs are bound to memory of ours, "plain" where ORT's plain `run` does
        it all; ``runner.path.why`` says why."""
        return wiring.Path("plain", "there is no session")

    @property
    def copies(self) -> dict[str, dict[str, int]]:
        """Input name to reason to how often it cost a copy that another array would not have cost.

        Reasons: "non-contiguous", "unaligned", "byte order", "cast", "text", "packed" (2 and 4 bits). Small
        arrays are always copied, so their layout costs nothing and is not counted.
        """
        return self._copies.seen()

    def warm(self) -> None:
        """Runs the model before the first caller does."""

    def close(self) -> None:
        """Lets go of the model. Calls under way finish, later ones raise UsageError. Twice is fine."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────

    def _run(
        self,
        feed: Mapping[str, Any],
        outputs: Sequence[str] | None,
        out: Mapping[str, Any] | None,
        cast: bool,
        limits: Limits,
    ) -> dict[str, Any]:
        names = self._asked(outputs)
        arrays = as_arrays(self.inputs, feed, cast=cast, copies=self._copies)
        if out:
            # The arrays as they were given: one that was copied must not be written over either.
            read = {n: feed[n] if isinstance(feed[n], np.ndarray) else a for n, a in arrays.items()}
            targets = check_out(self.outputs, out, read, self._shapes(arrays) or {})
            results: Mapping[str, Any] = {**self._call_into(names, arrays, targets, limits), **out}
        else:
            results = self._call(names, arrays, limits)
        return {n: results[n] for n in names}

    def _call(self, names: list[str], arrays: dict[str, Any], limits: Limits) -> Mapping[str, Any]:
        """At least the named outputs, by name."""
        raise NotImplementedError

    def _call_into(
        self, names: list[str], arrays: dict[str, Any], targets: Mapping[str, Any], limits: Limits
    ) -> Mapping[str, Any]:
        """The same, and the targets filled; here by a copy."""
        results = self._call(self._names, arrays, limits)
        for name, target in targets.items():
            if isinstance(target, ForeignTensor) or target.shape != results[name].shape:
                raise InputError(
                    f'out "{name}": got shape {list(target.shape)}, '
                    f"the model gives {list(results[name].shape)}"
                )
            target[...] = results[name]
        return results

    def _lend(self, arrays: dict[str, Any], limits: Limits) -> tuple[Mapping[str, Any], Callable[[], None]]:
        return self._call(self._names, arrays, limits), lambda: None

    def _shapes(self, arrays: Mapping[str, Any]) -> Mapping[str, tuple[int, ...]] | None:
        """The outputs' shapes for this feed, where they are known."""
        return None

    def _stream(self, state: dict[str, str]) -> Callable[..., Any]:
        def once(arrays: dict[str, Any], values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
            given = arrays | values
            results = self._call(self._names, {s.name: given[s.name] for s in self.inputs}, NONE)
            answers = {n: results[n] for n in self._names if n not in state.values()}
            return answers, {source: results[name] for source, name in state.items()}

        return once

    def _read(self, value: Any) -> Any:
        return np.array(value)

    def _step_inputs(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, Any]:
        """Arrays of those shapes that the model can run, so that a first run shows what it gives."""
        made = make_feed(self.inputs, shapes=shapes)
        return as_arrays(self.inputs, made)

    def _asked(self, outputs: Sequence[str] | None) -> list[str]:
        return self._names if outputs is None else self._wanted(outputs)

    def _wanted(self, outputs: Sequence[str]) -> list[str]:
        asked = [outputs] if isinstance(outputs, str) else list(dict.fromkeys(outputs))
        if not asked:
            raise InputError("outputs is empty: name at least one, or leave it out for all")
        known = set(self._names)
        unknown = [n for n in asked if n not in known][:_MOST_NAMES]
        if unknown:
            gives = ", ".join(self._names)
            raise InputError(
                [
                    f'output "{n}": no such output{nearest(str(n), self._names)}; it gives {gives}'
                    for n in unknown
                ]
            )
        return asked

    def _spec(self, specs: Sequence[TensorSpec], side: str, name: str) -> TensorSpec:
        known = {s.name: s for s in specs}
        if name not in known:
            raise InputError(
                f'{side} "{name}": no such {side}{nearest(name, known)}; '
                f"there are {', '.join(known) or 'none'}"
            )
        return known[name]

    def _closed(self) -> UsageError:
        return UsageError(f"this runner of {self.model_path.name} is closed: open the model again")


def limits_of(
    deadline: float | None, cancel: Cancel | None, log_id: str | None, severity: int | None
) -> Limits:
    """As `Limits.of`; the one `NONE` where nothing is asked for."""
    if deadline is None and cancel is None and log_id is None and severity is None:
        return NONE
    return Limits.of(deadline, cancel, log_id, severity)

"""The fast way of one call: a function written for one signature that checks, binds, runs and collects.

Its text is made from the kinds of the inputs and outputs alone (never from names of the model), once for each
combination; names, shapes and buffers are its closure's cells. A loop over inputs would cost as much as ORT
itself does for a small model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Call", "Input", "Output", "call_for", "direct_call_for", "key_for"]

Call = Callable[..., dict[str, Any] | None]
"""``call(feed)`` or ``call(feed, options)``: the answer, or None where the feed is not of this signature, or
where the call came while another one of the same thread was under way (from a signal handler, say)."""

MOST_KINDS = 256
"""Combinations of kinds whose functions are kept for the next binding."""


class Input(NamedTuple):
    """How one input gets to ORT.

    Attributes:
        kind: "copy": into the bound array `held`; "wrap": its own memory is bound for the call, then `held`
            (a value of no size) again, so that no binding keeps the caller's memory alive; "own": it must be
            `held` itself, which is bound already.
        onnx: number of the element type.
    """

    name: str
    kind: str
    dtype: Any
    shape: tuple[int, ...]
    held: Any
    onnx: int = 0


class Output(NamedTuple):
    """How one output gets to the caller.

    Attributes:
        kind: "copy": out of the bound array `held`; "view": a view of it; "alloc": into fresh memory of
            ORT's, number `place` of the bound outputs; "echo": it is the input of the same name, copied.
        onnx: number of the element type.
    """

    name: str
    kind: str
    held: Any = None
    onnx: int = 0
    place: int = 0


@dataclass(slots=True)
class _Text:
    checks: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


def call_for(
    binding: Any, run: Any, options: Any, wrap: Any, inputs: Sequence[Input], outputs: Sequence[Output]
) -> Call:
    """The function for one signature.

    Args:
        binding: ORT's binding, with everything bound that stays so.
        run: the session's `run_with_iobinding`.
        options: ORT's run options of a call that brings none.
        wrap: array and element type to ORT's value on the same memory.
    """
    echoes = tuple(next((n for n, i in enumerate(inputs) if i.name == o.name), -1) for o in outputs)
    make = _compiled(tuple(i.kind for i in inputs), tuple(o.kind for o in outputs), echoes)
    call: Call = make(np.ndarray, binding, run, options, wrap, inputs, outputs)
    return call


def direct_call_for(run: Any, options: Any, inputs: Sequence[Input], names: Sequence[str]) -> Call:
    """The same check, then the session's plain `run`: for signatures of large tensors, which it copies no
    more than a binding does, at less cost each."""
    make = _compiled_direct(tuple(i.kind for i in inputs), len(names))
    call: Call = make(np.ndarray, run, options, inputs, list(names))
    return call


@lru_cache(MOST_KINDS)
def _compiled_direct(inputs: tuple[str, ...], outputs: int) -> Any:
    text = _Text()
    for n, kind in enumerate(inputs):
        _INPUT[kind](text, n)
    lines = [
        "def make(ndarray, run, shared, I, names):",
        *_input_cells(len(inputs)),
        *(f"    M{n} = names[{n}]" for n in range(outputs)),
        "    def call(feed, options=shared):",
        *_reads(len(inputs)),
        *text.checks,
        f"        {''.join(f'y{n}, ' for n in range(outputs))}= run(names, feed, options)",
        f"        return {{{', '.join(f'M{n}: y{n}' for n in range(outputs))}}}",
        "    return call",
    ]
    return _defined(lines, "make")


def _input_cells(count: int) -> list[str]:
    return [f"    N{n}, _, D{n}, S{n}, B{n}, T{n} = I[{n}]" for n in range(count)]


def _reads(count: int, guard: str = "") -> list[str]:
    return [
        f"        if {guard}type(feed) is not dict or len(feed) != {count}:",
        "            return None",
        "        try:",
        *([f"            x{n} = feed[N{n}]" for n in range(count)] or ["            pass"]),
        "        except KeyError:",
        "            return None",
    ]


@lru_cache(MOST_KINDS)
def _compiled(inputs: tuple[str, ...], outputs: tuple[str, ...], echoes: tuple[int, ...]) -> Any:
    text = _Text()
    for n, kind in enumerate(inputs):
        _INPUT[kind](text, n)
    for n, kind in enumerate(outputs):
        _OUTPUT[kind](text, n, echoes[n])
    cells = [f"    M{n}, _, R{n}, _, V{n} = O[{n}]" for n in range(len(outputs))]
    vector = ["            values = vector()"] if "alloc" in outputs else []
    lines = [
        "def make(ndarray, binding, run, shared, wrap, I, O):",
        "    bind_input = binding.bind_ortvalue_input",
        "    allocate, vector = binding.bind_output, binding.get_outputs_as_ortvaluevector",
        *_input_cells(len(inputs)),
        *cells,
        "    busy = False",
        "    def call(feed, options=shared):",
        "        nonlocal busy",
        *_reads(len(inputs), "busy or "),
        *text.checks,
        # A signal handler or a finalizer that calls in here before this has finished when it returns; one
        # that comes later is told so.
        "        busy = True",
        "        try:",
        *text.before,
        "            run(binding, options)",
        *vector,
        f"            return {{{', '.join(text.results)}}}",
        "        finally:",
        *text.after,
        "            busy = False",
        "    return call",
    ]
    return _defined(lines, "make")


def _copy_in(text: _Text, n: int) -> None:
    text.checks += [
        f"        if type(x{n}) is not ndarray or x{n}.dtype is not D{n} or x{n}.shape != S{n}:",
        "            return None",
    ]
    text.before.append(f"            B{n}[...] = x{n}")


def _wrap_in(text: _Text, n: int) -> None:
    text.checks += [
        f"        if type(x{n}) is not ndarray or x{n}.dtype is not D{n} or x{n}.shape != S{n}:",
        "            return None",
        f"        f{n} = x{n}.flags",
        f"        if not (f{n}.c_contiguous and f{n}.aligned):",
        "            return None",
    ]
    text.before += [f"            v{n} = wrap(x{n}, T{n})", f"            bind_input(N{n}, v{n})"]
    text.after.append(f"            bind_input(N{n}, B{n})")


def _own_in(text: _Text, n: int) -> None:
    # The caller may have given it another shape or type since: what is bound is what it was.
    text.checks += [
        f"        if x{n} is not B{n} or x{n}.dtype is not D{n} or x{n}.shape != S{n}:",
        "            return None",
    ]


def _copy_out(text: _Text, n: int, echo: int) -> None:
    text.results.append(f"M{n}: R{n}.copy()")


def _view_out(text: _Text, n: int, echo: int) -> None:
    text.results.append(f"M{n}: R{n}.view()")


def _alloc_out(text: _Text, n: int, echo: int) -> None:
    text.results.append(f"M{n}: values[V{n}].numpy()")
    # Bound anew, or the next run would write into the array that was just given away.
    text.after.append(f"            allocate(M{n})")


def _echo_out(text: _Text, n: int, echo: int) -> None:
    text.results.append(f'M{n}: x{echo}.copy("C")')


_INPUT = {"copy": _copy_in, "wrap": _wrap_in, "own": _own_in}
_OUTPUT = {"copy": _copy_out, "view": _view_out, "alloc": _alloc_out, "echo": _echo_out}


def key_for(names: Sequence[str], dtypes: Sequence[Any]) -> Callable[[Any], tuple[Any, ...] | None]:
    """A function from a feed to its signature (the shapes, in the inputs' order); None where the feed is not
    plainly right: another type of mapping or of value, another element type, names missing or too many."""
    count = len(names)
    reads = [f"            x{n} = feed[names[{n}]]" for n in range(count)]
    checks = [
        f"        if type(x{n}) is not ndarray or x{n}.dtype is not D{n}: return None" for n in range(count)
    ]
    lines = [
        "def make(ndarray, names, dtypes):",
        *(f"    D{n} = dtypes[{n}]" for n in range(count)),
        "    def key(feed):",
        f"        if type(feed) is not dict or len(feed) != {count}: return None",
        "        try:",
        *(reads or ["            pass"]),
        "        except KeyError:",
        "            return None",
        *checks,
        f"        return ({''.join(f'x{n}.shape, ' for n in range(count))})",
        "    return key",
    ]
    make = _defined(lines, "make")
    key: Callable[[Any], tuple[Any, ...] | None] = make(np.ndarray, tuple(names), tuple(dtypes))
    return key


def _defined(lines: list[str], name: str) -> Any:
    """The function that the lines define. They hold numbers and words of this file, nothing of a model."""
    space: dict[str, Any] = {}
    exec(compile("\n".join(lines), "<hotlap: one signature>", "exec"), space)
    return space[name]

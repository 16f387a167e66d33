from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hotlap.runtime.probe import probe
from hotlap.tensors import TensorSpec

Array = Any


class Scripted:
    """y = what a function makes of x."""

    inputs = (TensorSpec.of("x", "float32", ["N", 4]),)

    def __init__(self, function: Callable[[Array], Array], dtype: str = "float32") -> None:
        self.outputs = (TensorSpec.of("y", dtype, ["N", 4]),)
        self._function = function

    def run(self, feed: dict[str, Array]) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            return {"y": self._function(feed["x"])}


def rows_of(function: Callable[[Array], Array], dtype: str = "float32") -> tuple[str, str]:
    facts = probe(Scripted(function, dtype))
    return facts.rows, facts.why


def test_another_kernel_for_one_row_is_rounding() -> None:
    """A row alone differs by 0.6 % from itself in a batch, batches agree with each other."""

    def run(x: Array) -> Array:
        return x * np.float32(1.006 if len(x) == 1 else 1)

    verdict, why = rows_of(run)
    assert verdict == "independent"
    assert "by 0.006 of its range beside copies" in why and "another kernel's rounding" in why


def test_what_goes_on_to_change_with_the_number_of_rows_is_not_called_rounding() -> None:
    verdict, why = rows_of(lambda x: x * np.float32(1 + 0.004 * len(x)))
    assert verdict == "unknown"
    assert "which rounding may explain" in why


def test_much_more_than_rounding_is_dependence() -> None:
    assert rows_of(lambda x: x * np.float32(1.1 if len(x) == 1 else 1))[0] == "dependent"


def test_little_is_allowed_where_shapes_are_equal() -> None:
    """1e-5 is less than rounding may do between shapes; between equal shapes it is a doubt."""
    verdict, why = rows_of(lambda x: x * np.float32(1 + 1e-6 * np.nan_to_num(x).clip(-9, 9).max()))
    assert verdict == "unknown"
    assert "which rounding may explain" in why


def test_a_tie_that_one_row_loses_is_a_doubt_and_two_are_dependence() -> None:
    first: list[Array] = []

    def unlucky(x: Array) -> Array:
        first.append(x[0].copy())
        y = (x > 0).astype(np.int64)
        if len(x) > 1:
            y[(x == first[0]).all(axis=1), 0] ^= 1
        return y

    verdict, why = rows_of(unlucky, "int64")
    assert (verdict, "which rounding may explain" in why) == ("unknown", True)
    assert rows_of(lambda x: (x > 0).astype(np.int64) + (len(x) > 1), "int64")[0] == "dependent"


def test_rows_that_run_alone_and_not_together_depend() -> None:
    from hotlap.errors import InputError

    def run(x: Array) -> Array:
        if len(x) > 1 and np.isnan(x).any():
            raise InputError("no NaN in company")
        return x

    verdict, why = rows_of(run)
    assert verdict == "dependent"
    assert why == "rows that run alone do not run together (nan): no NaN in company"


def test_a_neighbour_that_the_model_refuses_alone_is_left_out() -> None:
    from hotlap.errors import InputError

    def run(x: Array) -> Array:
        if np.isnan(x).any():
            raise InputError("no NaN at all")
        return x

    assert rows_of(run)[0] == "independent"


@pytest.mark.parametrize("noise", ["loud", "extreme", "nan"])
def test_what_only_a_stranger_betrays(noise: str) -> None:
    """An arithmetic that heeds a neighbour only when it is that strange."""
    least = {"loud": 20.0, "extreme": 5e3, "nan": np.inf}[noise]

    def run(x: Array) -> Array:
        strange = np.abs(np.nan_to_num(x, nan=np.inf)).max() >= least
        return x + np.float32(1) if strange else x

    assert rows_of(run)[0] == "dependent"


def by_place(factor: float, first: int) -> Callable[[Array], Array]:
    """A table of factors, one for each place in the batch."""
    return lambda x: x * np.where(np.arange(len(x)) >= first, np.float32(factor), np.float32(1))[:, None]


@pytest.mark.parametrize("first", [1, 3, 7])
def test_what_only_later_places_show(first: int) -> None:
    assert rows_of(by_place(1.5, first))[0] == "dependent"


@pytest.mark.parametrize("first", [1, 3, 7])
def test_a_little_more_at_later_places_is_no_other_kernel(first: int) -> None:
    """Kernels do not know places: only a row alone may differ from all others."""
    verdict, why = rows_of(by_place(1.01, first))
    assert verdict == "unknown"
    assert "which rounding may explain" in why


@pytest.mark.parametrize(("reads", "read"), [(4, 1), (5, 7), (6, 4), (1, 6)])
def test_each_place_is_watched_beside_a_stranger_at_each_other(reads: int, read: int) -> None:
    def run(x: Array) -> Array:
        y = x.copy()
        if len(x) > 6:
            y[reads] += np.nan_to_num(x[read]).clip(-3, 3)
        return y

    assert rows_of(run)[0] == "dependent"


def test_it_says_among_how_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows_of(lambda x: x)[1].endswith("among up to 8 rows")
    from hotlap.runtime.probe import tries

    now = [0.0]
    monkeypatch.setattr(tries, "monotonic", lambda: now[0])
    monkeypatch.setattr(tries, "perf_counter", lambda: now[0])

    def slow(x: Array) -> Array:
        now[0] += 0.1
        return x

    facts = probe(Scripted(slow))
    assert (facts.rows, facts.why[-18:]) == ("independent", "among up to 3 rows")


FLAG = TensorSpec.of("flag", "bool", ["N"])
TYPES = TensorSpec.of("token_type_ids", "int64", ["N", 4])
TEXT = TensorSpec.of("t", "string", ["N"])


@pytest.mark.parametrize(
    ("other", "seen"),
    [
        (FLAG, lambda flag: flag.any() != flag.all()),
        (TYPES, lambda token_type_ids: token_type_ids.max()),
        (TEXT, lambda t: (t == "").any()),
    ],
)
def test_what_only_an_input_beside_the_main_one_betrays(
    other: TensorSpec, seen: Callable[..., float]
) -> None:
    model = Scripted(lambda x: x)
    model.inputs = (*model.inputs, other)  # type: ignore[assignment]
    model.run = lambda feed: {  # type: ignore[method-assign]
        "y": feed["x"] + np.float32(seen(feed[other.name]))
    }
    assert probe(model).rows == "dependent"


def test_time_that_runs_out_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    from hotlap.runtime.probe import tries

    now = [0.0]
    monkeypatch.setattr(tries, "monotonic", lambda: now[0])

    def run(x: Array) -> Array:
        now[0] += 1.0
        return x

    facts = probe(Scripted(run), seconds=15)
    assert facts.rows == "unknown"
    assert facts.why == "time was up before every kind of neighbour had been tried"
    assert facts.axes == {"x": 0, "y": 0}

from __future__ import annotations

import numpy as np
import pytest

from hotlap.plan import Facts
from hotlap.serve.rows import Rows
from hotlap.tensors import TensorSpec
from hotlap.wire import Region
from tests.serve import made

IDS = TensorSpec.of("ids", "int64", ["B", "L"])
STATE = TensorSpec.of("state", "float32", [2, "B", 8])
RATE = TensorSpec.of("rate", "int64", [])
OUT = TensorSpec.of("y", "float32", ["B", 3])
AXES = {"ids": 0, "state": 1, "y": 0}
MODEL = made.served()


def rows_of(inputs: list[TensorSpec], facts: Facts | None = None) -> Rows:
    return Rows(facts or Facts(rows="independent", axes=AXES), inputs, [OUT])


def described(rows: Rows, **feed: np.ndarray) -> tuple[int, object]:
    return rows.describe(made.job(MODEL, feed))


def test_jobs_of_equal_shape_but_for_their_rows_may_go_together() -> None:
    rows = rows_of([IDS, STATE])
    one = described(rows, ids=np.zeros((1, 5), np.int64), state=np.zeros((2, 1, 8), np.float32))
    three = described(rows, ids=np.ones((3, 5), np.int64), state=np.ones((2, 3, 8), np.float32))
    longer = described(rows, ids=np.zeros((1, 6), np.int64), state=np.zeros((2, 1, 8), np.float32))
    assert (one[0], three[0]) == (1, 3)
    assert one[1] == three[1] != longer[1]


def test_inputs_without_rows_must_hold_the_same() -> None:
    rows = rows_of([IDS, RATE])
    ids = np.zeros((1, 5), np.int64)
    slow, again, fast = (described(rows, ids=ids, rate=np.array(r)) for r in (8000, 8000, 16000))
    assert slow == again
    assert slow[1] != fast[1] is not None


def test_a_large_shared_input_is_not_compared_and_goes_alone() -> None:
    rows = rows_of([IDS, TensorSpec.of("table", "float32", ["n"])])
    ids = np.zeros((1, 5), np.int64)
    assert described(rows, ids=ids, table=np.zeros(1024, np.float32))[1] is not None
    assert described(rows, ids=ids, table=np.zeros(1025, np.float32)) == (0, None)


def test_shared_text_is_compared_by_its_letters() -> None:
    rows = rows_of([IDS, TensorSpec.of("language", "string", ["n"])])
    ids = np.zeros((1, 5), np.int64)
    de, again, en = (
        described(rows, ids=ids, language=np.array([word], object)) for word in ("de", "de", "en")
    )
    assert de == again and de[1] != en[1]


@pytest.mark.parametrize("other", [(2, 2, 8), (2, 0, 8), (2,)])
def test_inputs_that_disagree_about_rows_go_alone(other: tuple[int, ...]) -> None:
    rows = rows_of([IDS, STATE])
    feed = {"ids": np.zeros((1, 5), np.int64), "state": np.zeros(other, np.float32)}
    assert described(rows, **feed) == (0, None)


def test_no_rows_at_all_go_alone() -> None:
    assert described(rows_of([IDS]), ids=np.zeros((0, 5), np.int64)) == (0, None)


def test_rows_in_shared_memory_are_described_by_the_shape_that_was_named() -> None:
    rows = rows_of([IDS])
    job = made.job(MODEL, {}, regions={"ids": Region("r", 0, 80)}, shapes={"ids": (2, 5)})
    assert rows.describe(job) == described(rows, ids=np.zeros((2, 5), np.int64))


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (Facts(), "its rows are not known to be independent (unknown: the model was not probed)"),
        (Facts(rows="dependent", why="y moves", axes=AXES), "independent (dependent: y moves)"),
        (Facts(rows="independent", axes={"ids": 0}), 'output "y" has no axis of rows'),
        (Facts(rows="independent", axes={"y": 0}), "no input has an axis of rows"),
    ],
)
def test_why_nothing_may_go_together(facts: Facts, why: str) -> None:
    rows = rows_of([IDS], facts)
    assert why in rows.why_not
    assert described(rows, ids=np.zeros((1, 5), np.int64)) == (0, None)

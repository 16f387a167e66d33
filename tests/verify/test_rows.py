from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hotlap.verify.rows import rows_of, shapes_of


@pytest.mark.parametrize(
    ("feed", "answer", "rows"),
    [
        ({"x": (64, 3)}, {"y": (64, 2)}, 64),
        ({"sr": (), "x": (64, 3)}, {"y": (64, 2)}, 64),
        ({"mask": (1, 3), "x": (64, 3)}, {"y": (64, 1)}, 64),
        ({"x": (1, 512), "state": (2, 1, 128)}, {"y": (1, 1), "state": (2, 1, 128)}, 1),
        ({"x": (64, 3)}, {"y": (10, 64)}, 64),
        ({"x": (7, 3)}, {"y": (10, 64)}, 1),
        ({"sr": ()}, {"y": ()}, 1),
    ],
)
def test_rows_are_those_of_whatever_input_an_output_has_them_of(feed: Any, answer: Any, rows: int) -> None:
    assert rows_of(*({k: np.zeros(shape) for k, shape in side.items()} for side in (feed, answer))) == rows


def test_a_list_has_as_many_rows_as_entries() -> None:
    assert rows_of({"x": np.zeros((3, 2))}, {"p": [{0: 0.5}] * 3}) == 3


def test_shapes_are_told_by_name() -> None:
    assert shapes_of({"x": np.zeros((3, 16)), "sr": np.array(8000)}) == "x 3x16, sr scalar"

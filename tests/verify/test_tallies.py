from __future__ import annotations

import numpy as np

from hotlap.verify.span import spans
from hotlap.verify.tallies import Tallies
from hotlap.verify.verdict import Noise

QUIET = {"y": Noise()}


def test_an_input_that_is_refused_counts_as_one() -> None:
    tallies = Tallies(spans([{"y": np.zeros(2)}], {}), QUIET)
    tallies.add(0, {"y": np.zeros(2)}, {"y": np.zeros(2)})
    tallies.refuse(4, "input 4 (x 2): no")
    tallies.refuse(7, "input 7 (x 3): no")
    assert (tallies.refused, tallies.first_odd, tallies.inputs) == ((2, "input 4 (x 2): no"), 4, 3)


def test_maps_and_the_array_of_their_numbers_are_one() -> None:
    rows = [{0: 0.25, 1: 0.75}, {0: 0.5, 1: 0.5}]
    array = np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)
    for before, after in ((rows, array), (array, rows)):
        tallies = Tallies(spans([{"y": before}], {}), QUIET)
        tallies.add(0, {"y": before}, {"y": after})
        assert not tallies.reshaped and tallies.diffs()[0].max_abs == 0
    tallies = Tallies(spans([{"y": rows}], {}), QUIET)
    tallies.add(0, {"y": rows}, {"y": array[:, :1]})
    assert tallies.reshaped

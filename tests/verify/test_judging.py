from __future__ import annotations

import numpy as np
import pytest

from hotlap.verify import judging
from hotlap.verify.span import spans
from hotlap.verify.tallies import Tallies
from hotlap.verify.verdict import Noise


def compare(before: np.ndarray, after: np.ndarray, noise: Noise | None = None) -> Tallies:
    tallies = Tallies(spans([{"y": before}], {}), {"y": noise or Noise()})
    tallies.add(0, {"y": before}, {"y": after})
    return tallies


LINE = np.linspace(0, 1, 1001)


@pytest.mark.parametrize(("times", "passes"), [(0, True), (1, True), (4.9, True), (5.2, False), (100, False)])
def test_exact_allows_five_times_the_noise_at_the_worst_value(times: float, passes: bool) -> None:
    after = LINE.copy()
    after[7] += times * 1e-4
    failures = judging.exact_failures(compare(LINE, after, Noise(max_rel=1e-4, rms=1.0)))
    assert (failures == []) == passes


@pytest.mark.parametrize(("times", "passes"), [(1, True), (4.9, True), (5.2, False)])
def test_exact_allows_five_times_the_noise_in_the_mean(times: float, passes: bool) -> None:
    failures = judging.exact_failures(compare(LINE, LINE + times * 1e-6, Noise(max_rel=1.0, rms=1e-6)))
    assert (failures == []) == passes


def test_without_noise_a_few_units_in_the_last_place_are_no_difference() -> None:
    line = LINE.astype(np.float32)
    assert judging.exact_failures(compare(line, np.nextafter(line, np.float32(2)))) == []
    assert judging.exact_failures(compare(line, line + np.float32(1e-5)))


def test_exact_lists_the_worst_first_and_says_the_numbers() -> None:
    before = {"a": LINE, "b": LINE}
    tallies = Tallies(spans([before], {}), {k: Noise(max_rel=1e-5, rms=1e-6) for k in before})
    tallies.add(0, before, {"a": LINE + 1e-3, "b": LINE + 1e-1})
    first, second = judging.exact_failures(tallies)
    assert first.startswith('output "b" differs by up to 0.1 of its range (rms 0.1)')
    assert "float noise is 1e-05 (rms 1e-06)" in second


def test_integers_may_differ_as_often_as_the_noise_makes_them() -> None:
    before, after = np.arange(100), np.arange(100)
    after[3] = 7
    assert judging.exact_failures(compare(before, after)) == ['output "y": 1 of 100 values are not equal']
    assert judging.exact_failures(compare(before, after, Noise(mismatched=0.01))) == []
    assert judging.close_failures(compare(before, after))
    assert (
        judging.close_failures(compare(np.arange(1000), np.where(np.arange(1000) == 3, 0, np.arange(1000))))
        == []
    )


def test_close_wants_nearly_all_values_near() -> None:
    few, many = LINE.copy(), LINE.copy()
    few[:5] += 0.03
    many[:6] += 0.03
    assert judging.close_failures(compare(LINE, few)) == []
    (said,) = judging.close_failures(compare(LINE, many))
    assert said == 'output "y": 99.40% of its values within 2% of its range'


def test_close_wants_the_same_direction() -> None:
    before = np.zeros(10_000)
    before[0] = 1.0
    after = before.copy()
    after[1] = 0.2
    assert judging.close_failures(compare(before, after)) == ['output "y": cosine 0.98058']


def test_close_wants_the_same_first_place() -> None:
    before = np.array([[0.505, 0.495]] * 300)
    after = before.copy()
    after[5] = after[5, ::-1]
    assert judging.close_failures(compare(before, after)) == [
        'output "y": another first place on 1 of 300 rows'
    ]


def test_nothing_forgives_a_nan_a_shape_or_a_missing_output() -> None:
    broken = judging.breakage(compare(np.zeros(3), np.array([0, np.nan, 0])))
    assert broken == 'output "y"[1] of input 0: 0.0 became nan (1 such values)'
    assert "became" in (judging.breakage(compare(np.zeros(3), np.zeros(4))) or "")
    assert judging.breakage(compare(LINE, LINE + 5)) is None


def test_shapes_that_noise_changes_may_change() -> None:
    assert judging.breakage(compare(np.zeros(3), np.zeros(4), Noise(reshaped=1.0))) is None


def shaped(before: dict, after: dict, noise: dict[str, float], inputs: int = 1) -> str | None:
    """What `breakage` says where `before` gives `after` on the first of some inputs, and itself on others."""
    known = {label: Noise(reshaped=share) for label, share in noise.items()}
    tallies = Tallies(spans([before], {}), known)
    for number in range(inputs):
        tallies.add(number, before, after if number == 0 else before)
    return judging.breakage(tallies)


def test_the_noise_of_a_part_is_that_of_its_output() -> None:
    before = {"s": [np.zeros(3), np.arange(3)]}
    after = {"s": [np.zeros(4), np.arange(3)]}
    assert "became" in (shaped(before, after, {}) or "")
    assert shaped(before, after, {"s (floats)": 1.0, "s (integers)": 1.0}) is None
    assert shaped(before, after, {"s (floats)": 0.2, "s (integers)": 0.2}) is not None


def test_outputs_whose_names_begin_alike_have_shares_of_their_own() -> None:
    before = {"y": np.zeros(3), "y2": np.zeros(3), "y (floats)": np.zeros(3)}
    assert shaped(before, {**before, "y": np.zeros(4)}, {"y": 0.5}, inputs=2) is None
    assert shaped(before, {**before, "y": np.zeros(4)}, {"y2": 1.0, "y (floats)": 1.0}) is not None
    alone = Tallies(spans([before], {}), {"y": Noise(reshaped=0.5)})
    alone.add(0, before, {"y": np.zeros(4), "y2": np.zeros(4), "y (floats)": np.zeros(3)})
    alone.add(1, before, {**before, "y2": np.zeros(4)})
    assert (judging.breakage(alone) or "").startswith('output "y2" of input 0')
    assert [d.reshaped for d in alone.diffs()] == [0.5, 1.0, 0.0]


def test_no_noise_takes_an_output_away_or_changes_its_type() -> None:
    before = {"y": np.zeros(3, np.float32)}
    assert shaped(before, {}, {"y": 1.0}) == 'output "y" is missing'
    assert "float16" in (shaped(before, {"y": np.zeros(3, np.float16)}, {"y": 1.0}) or "")


def test_what_is_said_of_a_pass() -> None:
    same = compare(LINE, LINE)
    assert judging.said_exact(same.diffs()) == "every value is the same"
    assert judging.worst(same) == ""
    moved = compare(LINE, LINE + 1e-6, Noise(max_rel=1e-6, rms=1e-6))
    assert judging.said_exact(moved.diffs()) == (
        "differences up to 1e-06 of the range, the model's own float noise is 1e-06"
    )
    rows = np.array([[0.25, 0.75]] * 4)
    said = judging.said_close(compare(rows, rows).diffs())
    assert said == (
        "100.00% of the values within 2% of the range, cosine 1.00000, the same first place on 4 of 4 rows"
    )


def test_a_forgiven_tie_is_said() -> None:
    before, after = np.array([[0.5001, 0.4999]]), np.array([[0.4999, 0.5001]])
    said = judging.said_close(compare(before, after, Noise(max_rel=1)).diffs())
    assert said.endswith("the same first place on 0 of 1 rows (1 ties within the noise)")


def test_the_excess_is_how_many_times_what_is_allowed() -> None:
    tally = compare(LINE, LINE + 1e-3, Noise(max_rel=1e-4, rms=1.0)).tallies["y"]
    assert judging.excess(tally) == pytest.approx(2, rel=1e-3)
    equal, other = (compare(np.arange(4), np.arange(4) + n).tallies["y"] for n in (0, 1))
    assert judging.excess(equal) == 0 and judging.excess(other) == np.inf


def test_boxes_decide_only_where_they_are_named() -> None:
    boxes = np.array([[n, n, n + 10, n + 10] for n in range(100)], np.float32)
    moved = boxes + np.array([0, 0, 0, -1.5], np.float32)  # within 2 % of the range, IoU 0.85
    for named, failures in (({}, 0), ({"y": "xyxy"}, 1)):
        tallies = Tallies(spans([{"y": boxes}], {}, named), {"y": Noise()})
        tallies.add(0, {"y": boxes}, {"y": moved})
        found = judging.close_failures(tallies)
        assert len(found) == failures
    assert found == ['output "y": 0.00% of its boxes overlap by 90% or more']


def test_the_input_to_look_at_is_the_refused_one_else_the_worst() -> None:
    tallies = compare(LINE, LINE + 1)
    assert judging.worst_input(tallies) == 0
    assert judging.worst_input(compare(LINE, LINE)) is None
    tallies.refuse(3, "input 3 (x 2): no")
    assert judging.worst_input(tallies) == 3
    assert judging.breakage(tallies) == "input 3 (x 2): no (1 of 2 inputs are refused)"


def test_what_is_no_number_on_both_sides_is_said() -> None:
    odd = np.array([np.nan, 1.0])
    tallies = compare(odd, odd)
    assert judging.not_finite_input(tallies) == 0
    assert judging.not_finite(tallies) == [
        'output "y": 1 of 2 values are the same NaN or infinity on both sides'
    ]
    assert judging.not_finite_input(compare(LINE, LINE)) is None
    assert judging.worst_input(compare(np.ones(2), odd)) == 0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_reference_of_zeros_alone_forgives_nothing(dtype: type) -> None:
    """Zero has no last place, and no noise: what differs from it is no rounding."""
    zeros = np.zeros(4, dtype)
    assert judging.exact_failures(compare(zeros, -zeros)) == []
    other = zeros.copy()
    other[2] = np.finfo(dtype).smallest_subnormal if dtype is np.float64 else 1
    (said,) = judging.exact_failures(compare(zeros, other))
    assert said.startswith('output "y" is 0 throughout, the candidate\'s is off by up to ')


@pytest.mark.parametrize(("off", "passes"), [(0.0, True), (4e-7, True), (1e-3, False), (0.5, False)])
def test_close_to_zeros_is_what_is_exact(off: float, passes: bool) -> None:
    """They have no direction to compare by a cosine, and no range."""
    zeros = np.zeros(4)
    tallies = compare(zeros, zeros + off, Noise(max_rel=1e-7, rms=1e-7))
    assert (judging.exact_failures(tallies) == []) == passes
    assert (judging.close_failures(tallies) == []) == passes


def test_probabilities_in_maps_have_the_last_places_of_float32() -> None:
    rows = np.array([[0.1, 0.9], [0.7, 0.3]], np.float32)

    def maps(array: np.ndarray) -> list[dict[int, float]]:
        return [dict(enumerate(row)) for row in array.tolist()]

    for other, passes in ((np.nextafter(rows, np.float32(2)), True), (rows + np.float32(1e-5), False)):
        tallies = Tallies(spans([{"y": maps(rows)}], {}), {"y": Noise()})
        tallies.add(0, {"y": maps(rows)}, {"y": maps(other)})
        assert (judging.exact_failures(tallies) == []) == passes

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.bench.shapes import Choice, ShapeMix, draw_shapes, load_mix, parse_mix, split_symbols
from hotlap.errors import UsageError


def weights(text: str) -> dict[tuple[int, ...], float]:
    return {next(iter(c.shapes.values())): pytest.approx(c.weight) for c in parse_mix(text).choices}


def test_a_size_drawn_from_weights() -> None:
    found = weights("x=1x3x48x{160:0.5,320:0.3,640:0.2}")
    assert found == {(1, 3, 48, 160): 0.5, (1, 3, 48, 320): 0.3, (1, 3, 48, 640): 0.2}
    assert {next(iter(c.shapes)) for c in parse_mix("x=1x{1,2}").choices} == {"x"}


def test_braces_multiply_and_weights_need_not_add_up() -> None:
    assert weights("x={1:3,2:1}x{8,16}") == {(1, 8): 0.375, (1, 16): 0.375, (2, 8): 0.125, (2, 16): 0.125}


def test_a_span_is_each_size_in_between_equally_often() -> None:
    assert weights("L={3..6}") == {(3,): 0.25, (4,): 0.25, (5,): 0.25, (6,): 0.25}


def test_whole_shapes_with_weights() -> None:
    assert weights("x=1x3x32x32:9,1x3x64x64:1") == {(1, 3, 32, 32): 9, (1, 3, 64, 64): 1}
    assert weights("x=1x{8:1,16:3}:2,4x4") == {(1, 8): 0.5, (1, 16): 1.5, (4, 4): 1}


def test_one_plain_shape_and_a_name_with_odd_letters() -> None:
    (choice,) = parse_mix("input.1:0=2x5").choices
    assert choice == Choice(1.0, {"input.1:0": (2, 5)})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1x3", "write NAME=SHAPE"),
        ("=1x3", "write NAME=SHAPE"),
        ("x=", '"" is no shape'),
        ("x=1xabc", '"1xabc" is no shape'),
        ("x=1xx3", "is no shape"),
        ("x=1x{4:often}", '"often" is no weight'),
        ("x=1x{a}", '"a" is no size'),
        ("x=1x{9..3}", "has -5 sizes|has 0 sizes"),
        ("x=1x{4:0}", "weight must be more than 0"),
        ("x=1x3:-1", "weight must be more than 0"),
        ("x={1..4000}x{1..4000}", "more than 4096"),
        ("x=1x-3", "is no shape"),
    ],
)
def test_what_is_no_mix_is_refused_with_the_part_that_is_wrong(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse_mix(text)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=8), st.integers(1, 100), st.integers(0, 9))
def test_every_choice_comes_as_often_as_its_weight_says_to_within_one(
    given_weights: list[float], count: int, seed: int
) -> None:
    mix = ShapeMix(tuple(Choice(w, {"x": (n,)}) for n, w in enumerate(given_weights)))
    found = Counter(shapes["x"][0] for shapes in draw_shapes([mix], count, seed))
    for n, w in enumerate(given_weights):
        assert abs(found[n] - count * w / sum(given_weights)) <= 1 + 1e-6


def test_mixes_are_drawn_independently_and_in_an_order_of_chance() -> None:
    mixes = [parse_mix("a={1,2}"), parse_mix("b={1,2}")]
    drawn = [(s["a"][0], s["b"][0]) for s in draw_shapes(mixes, 400, seed=1)]
    assert all(60 < n < 140 for n in Counter(drawn).values()) and len(set(drawn)) == 4
    assert [a for a, _ in drawn] != sorted(a for a, _ in drawn)
    assert draw_shapes(mixes, 40, seed=1) == draw_shapes(mixes, 40, seed=1)


def test_a_symbol_of_the_signature_is_a_size_and_an_input_a_shape() -> None:
    shapes = {"x": (1, 8), "L": (16,), "y": (5,), "typo": (2,)}
    assert split_symbols(shapes, {"x": 0, "y": 0}, ["L", "batch"]) == (
        {"x": (1, 8), "y": (5,), "typo": (2,)},
        {"L": 16},
    )


def test_the_shapes_of_a_recording_keep_the_inputs_of_a_request_together(tmp_path: Path) -> None:
    rows = [{"count": 3, "shapes": {"ids": [1, 8], "mask": [1, 8]}}, {"count": 1, "shapes": {"ids": [1, 9]}}]
    (tmp_path / "shapes.json").write_text(json.dumps({"format": 1, "shapes": rows}))
    mix = load_mix(tmp_path / "shapes.json")
    assert mix.choices == (Choice(3.0, {"ids": (1, 8), "mask": (1, 8)}), Choice(1.0, {"ids": (1, 9)}))
    with pytest.raises(UsageError, match="No such file"):
        load_mix(tmp_path / "none.json")
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(UsageError, match="no shapes of a recording"):
        load_mix(tmp_path / "other.json")


def test_a_mix_survives_json() -> None:
    mix = parse_mix("x=1x{2:0.25,4:0.75}")
    assert msgspec.json.decode(msgspec.json.encode(mix), type=ShapeMix) == mix

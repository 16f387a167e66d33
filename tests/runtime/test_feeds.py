from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotlap.errors import InputError
from hotlap.runtime import default_session
from hotlap.runtime.feeds import find_feed, make_feed
from hotlap.tensors import DTYPES, TensorSpec, check_feed
from tests import tiny

of = TensorSpec.of
FEEDABLE = [d.name for d in DTYPES if d.numpy is not None]


@settings(deadline=None)
@given(
    dtype=st.sampled_from(FEEDABLE),
    shape=st.lists(st.one_of(st.integers(0, 5), st.sampled_from(["n", "m", "batch"]), st.none()), max_size=4),
    seed=st.integers(0, 2**32),
)
def test_whatever_is_made_passes_the_input_check(dtype: str, shape: list[Any], seed: int) -> None:
    specs = [of("x", dtype, shape), of("other", dtype, shape[::-1])]
    feed = make_feed(specs, seed=seed)
    checked = check_feed(specs, feed)
    assert all(checked[name] is array or dtype == "string" for name, array in feed.items())


def test_equal_arguments_give_equal_feeds_and_seeds_differ() -> None:
    specs = [of("x", "float32", ["batch", 8])]
    first, again, other = make_feed(specs), make_feed(specs), make_feed(specs, seed=1)
    assert np.array_equal(first["x"], again["x"])
    assert not np.array_equal(first["x"], other["x"])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_are_standard_normal_and_never_denormal(dtype: str) -> None:
    x = make_feed([of("x", dtype, [200_000])])["x"]
    assert abs(float(x.mean(dtype=np.float64))) < 0.02
    assert abs(float(x.std(dtype=np.float64)) - 1) < 0.02
    assert not ((x != 0) & (np.abs(x) < np.finfo(x.dtype).smallest_normal)).any()


def test_a_text_models_inputs() -> None:
    names = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
    feed = make_feed([of(n, "int64", ["batch", "sequence"]) for n in names], limits={"input_ids": 100})
    assert all(a.shape == (1, 32) for a in feed.values())
    assert 2 < feed["input_ids"].max() < 100
    assert (feed["attention_mask"] == 1).all()
    assert (feed["token_type_ids"] == 0).all()
    assert feed["position_ids"].tolist() == [list(range(32))]


def test_ids_without_a_limit_stay_in_the_smallest_table() -> None:
    assert set(make_feed([of("x", "int32", [1, 2048])])["x"].ravel().tolist()) == {0, 1}


def test_bytes_take_their_whole_range() -> None:
    x = make_feed([of("image", "uint8", [1, 64, 64, 3])])["image"]
    assert (x.min(), x.max()) == (0, 255)


def test_speech_models_get_a_sample_rate() -> None:
    assert make_feed([of("sr", "int64", [])])["sr"] == 16_000


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (["batch", 3, "h", "w"], (1, 3, 64, 64)),
        ([None, 3, None, None], (1, 3, 64, 64)),
        (["n", "h", "w", 3], (1, 64, 64, 3)),
        ([1, 3, 48, "w"], (1, 3, 48, 64)),
        ([2, None, 128], (2, 1, 128)),
        (["rows"], (1,)),
        ([], ()),
        ([0, 3], (0, 3)),
    ],
)
def test_axes_of_which_nothing_is_known(shape: list[Any], expected: tuple[int, ...]) -> None:
    assert make_feed([of("x", "float32", shape)])["x"].shape == expected


def test_sizes_and_shapes_are_kept_and_reach_other_inputs() -> None:
    specs = [of("ids", "int64", ["B", "L"]), of("mask", "int64", ["B", "L"])]
    assert make_feed(specs, sizes={"L": 7})["mask"].shape == (1, 7)
    feed = make_feed(specs, shapes={"ids": (2, 9)})
    assert (feed["ids"].shape, feed["mask"].shape) == ((2, 9), (2, 9))
    assert make_feed(specs, sizes={"L": 0})["ids"].shape == (1, 0)


def test_what_cannot_be_made_is_said() -> None:
    with pytest.raises(InputError, match=r'"idz".*did you mean "ids"'):
        make_feed([of("ids", "int64", [1])], shapes={"idz": (1,)})
    with pytest.raises(InputError, match='input "x": no values can be made for bfloat16'):
        make_feed([of("x", "bfloat16", [1])])
    with pytest.raises(InputError, match=r"seq\(tensor\(float\)\)"):
        make_feed([TensorSpec("x", "seq(tensor(float))")])
    with pytest.raises(InputError, match=r"shape \[1152921504606846976, 64\] cannot be made"):
        make_feed([of("x", "float32", ["a", "b"])], shapes={"x": (2**60, 64)})


def test_guesses_go_on_until_one_runs(tmp_path: Path) -> None:
    model = default_session(tiny.save(tiny.conv(multiple=48), tmp_path / "m.onnx"))
    feed = find_feed(model.run, model.inputs)
    assert feed["x"].shape == (1, 3, 48, 192)


def test_when_no_guess_runs_the_first_reason_is_raised_and_nothing_is_tried_twice() -> None:
    calls: list[tuple[int, ...]] = []

    def run(feed: dict[str, Any]) -> None:
        calls.append(feed["x"].shape)
        raise InputError(f"no {len(calls)}")

    with pytest.raises(InputError, match="no 1"):
        find_feed(run, [of("x", "float32", [1, 4])])
    assert calls == [(1, 4)]


def test_an_input_of_unknown_rank_gets_some_shape(tmp_path: Path) -> None:
    spec = TensorSpec.declared("x", "tensor(float)", None)
    assert make_feed([spec])["x"].ndim == 2


def test_onnxruntime_reads_it_without_a_word(tmp_path: Path) -> None:
    session = onnxruntime.InferenceSession(tiny.gather_mask().SerializeToString())
    feed = make_feed([of("ids", "int64", ["B", "L"]), of("mask", "int64", ["B", "L"])], limits={"ids": 100})
    assert session.run(None, feed)[0].shape == (1, 32, 8)


def test_no_signature_can_claim_all_memory() -> None:
    with pytest.raises(InputError, match=r'input "x": an array of shape .* more than 2 GiB; give this input'):
        make_feed([of("x", "float32", [1 << 20, 1 << 14])])

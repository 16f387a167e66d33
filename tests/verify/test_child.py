from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from hotlap.bench import Target, load_feeds, save_feeds
from hotlap.errors import InputError, ModelError
from hotlap.verify.answers import Refused, answer_file, load_answer
from hotlap.verify.child import FAILED, NOISE, SECONDS, Request, Sweep, answer
from hotlap.verify.span import packed_spans, spans
from hotlap.verify.verdict import Noise
from tests import tiny


@pytest.fixture
def mlp(tmp_path: Path) -> Target:
    return Target.default(tiny.save(tiny.mlp(), tmp_path / "mlp.onnx"))


@pytest.fixture
def feeds(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    made = [{"x": rng.standard_normal((2, 16), np.float32)} for _ in range(4)]
    return save_feeds(tmp_path / "feeds", made)


def request(feeds: Path, *sweeps: Sweep, make: Target | None = None) -> Request:
    return Request(feeds=str(feeds), sweeps=list(sweeps), make=make, outcome="")


def test_every_input_gets_its_answer(tmp_path: Path, mlp: Target, feeds: Path) -> None:
    answer(request(feeds, Sweep(target=mlp, folder=str(tmp_path / "all"))))
    answers = [load_answer(answer_file(tmp_path / "all", n)) for n in range(4)]
    assert all(a["y"].shape == (2, 4) for a in answers)
    assert float((tmp_path / "all" / SECONDS).read_text()) > 0


def test_only_the_numbers_asked_for_and_nudged_where_asked(tmp_path: Path, mlp: Target, feeds: Path) -> None:
    plain, moved = (str(tmp_path / name) for name in ("plain", "moved"))
    answer(
        request(
            feeds,
            Sweep(target=mlp, folder=plain, numbers=[1, 3]),
            Sweep(target=mlp, folder=moved, numbers=[1, 3], nudge=0),
        )
    )
    assert sorted(p.name for p in Path(plain).glob("*.npz")) == ["000001.npz", "000003.npz"]
    a, b = (load_answer(answer_file(Path(folder), 3))["y"] for folder in (plain, moved))
    assert not np.array_equal(a, b)
    assert np.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_against_answers_only_the_difference_is_kept(tmp_path: Path, mlp: Target, feeds: Path) -> None:
    first = tmp_path / "first"
    answer(request(feeds, Sweep(target=mlp, folder=str(first))))
    known = spans((load_answer(answer_file(first, n)) for n in range(4)), {})
    again = Sweep(
        target=mlp, folder=str(tmp_path / "again"), nudge=1, against=str(first), spans=packed_spans(known)
    )
    answer(request(feeds, again))
    assert not list((tmp_path / "again").glob("*.npz"))
    noise = msgspec.msgpack.decode((tmp_path / "again" / NOISE).read_bytes(), type=dict[str, Noise])
    assert 0 < noise["y"].rms < noise["y"].max_rel < 1e-5


def test_inputs_are_made_where_none_are_given(tmp_path: Path, mlp: Target) -> None:
    answer(request(tmp_path / "made", Sweep(target=mlp, folder=str(tmp_path / "all")), make=mlp))
    made = load_feeds(tmp_path / "made")
    assert {feed["x"].shape[0] for feed in made} == {1, 2, 3, 7, 17}
    assert len(list((tmp_path / "all").glob("*.npz"))) == len(made) == 8


def test_inputs_that_are_not_taken_are_noted_even_where_none_is(tmp_path: Path, mlp: Target) -> None:
    given = [{"x": np.zeros((n, 16), np.float32)} for n in (1, 2)]
    fixed = tiny.mlp()
    fixed.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    target = Target.default(tiny.save(fixed, tmp_path / "fixed.onnx"))
    folder = save_feeds(tmp_path / "two", given)
    answer(request(folder, Sweep(target=target, folder=str(tmp_path / "fixed"), refusals=True)))
    kept, refused = (load_answer(answer_file(tmp_path / "fixed", n)) for n in range(2))
    assert kept["y"].shape == (1, 4)
    assert isinstance(refused, Refused) and "Got: 2 Expected: 1" in refused.why
    only = save_feeds(tmp_path / "only", given[1:])
    answer(request(only, Sweep(target=target, folder=str(tmp_path / "none"), refusals=True)))
    assert isinstance(load_answer(answer_file(tmp_path / "none", 0)), Refused)


def test_a_pass_that_may_fail_says_why_and_the_next_goes_on(tmp_path: Path, mlp: Target, feeds: Path) -> None:
    broken = Target.default(tmp_path / "no.onnx")
    bad = Sweep(target=broken, folder=str(tmp_path / "bad"), optional=True)
    good = Sweep(target=mlp, folder=str(tmp_path / "good"))
    answer(request(feeds, bad, good))
    assert "no.onnx" in (tmp_path / "bad" / FAILED).read_text()
    assert len(list((tmp_path / "good").glob("*.npz"))) == 4
    with pytest.raises(ModelError, match=r"no\.onnx"):
        answer(request(feeds, Sweep(target=broken, folder=str(tmp_path / "bad"))))


def test_an_input_that_does_not_fit_is_an_input_error(tmp_path: Path, mlp: Target) -> None:
    feeds = save_feeds(tmp_path / "wrong", [{"x": np.zeros((2, 3), np.float32)}])
    with pytest.raises(InputError):
        answer(request(feeds, Sweep(target=mlp, folder=str(tmp_path / "all"))))

from __future__ import annotations

from pathlib import Path

import pytest

import tests.real
from hotlap.runtime import default_session
from tests.real import NAMES, TWELVE, needs_fonts, real


def test_there_are_twelve_with_a_name_a_licence_and_a_job_each() -> None:
    assert len(set(NAMES)) == 12
    assert all(m.licence in {"MIT", "Apache-2.0"} and m.job for m in TWELVE)


@pytest.mark.parametrize("name", NAMES)
def test_each_model_takes_its_real_inputs(name: str) -> None:
    model = real(name)
    session = default_session(model.path)
    feeds = model.feeds(3)
    assert len(feeds) == 3
    for feed in feeds:
        assert set(feed) == {s.name for s in session.inputs}
        outputs = session.run(feed)
    assert set(model.scores) <= set(outputs)


@pytest.mark.parametrize("name", ["ocr-rec", "minilm", "magika", "silero", "captcha"])
def test_equal_seeds_give_equal_feeds_and_other_seeds_others(name: str) -> None:
    model = real(name)

    def same(a: list, b: list) -> bool:
        return all(f[k].tobytes() == g[k].tobytes() for f, g in zip(a, b, strict=True) for k in f)

    assert same(model.feeds(4), model.feeds(4))
    assert not same(model.feeds(4), model.feeds(4, seed=1))


def test_a_missing_model_skips_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOTLAP_MODELS", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"ocr-rec: no .*ch_PP-OCRv4_rec_infer.onnx below"):
        real("ocr-rec")


def test_a_missing_model_fails_on_a_build_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOTLAP_MODELS", str(tmp_path))
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="ocr-rec"):
        real("ocr-rec")


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(KeyError, match="ocr-det"):
        real("nonsense")


@pytest.mark.parametrize(("there", "ci", "ends"), [(6, "1", ""), (2, "1", "fails"), (2, "", "skips")])
def test_missing_fonts_skip_at_home_and_fail_on_a_build_machine(
    monkeypatch: pytest.MonkeyPatch, there: int, ci: str, ends: str
) -> None:
    monkeypatch.setattr(tests.real, "fonts", lambda size: (None,) * there)
    monkeypatch.setenv("CI", ci)
    if not ends:
        needs_fonts()
        return
    with pytest.raises(pytest.fail.Exception if ends == "fails" else pytest.skip.Exception, match="fonts"):
        needs_fonts()

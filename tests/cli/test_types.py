from __future__ import annotations

from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.cli.types import AXES, DURATION, FUNCTION, PERCENT, SHARE, SIZE


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("90", 90), ("2m", 120), ("1.5 min", 90), ("1h", 3600), ("250ms", 0.25)],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert DURATION.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5 parsecs", "-3s", "1e3", "nan", "inf"])
def test_what_is_no_length_of_time_is_said(text: str) -> None:
    with pytest.raises(click.BadParameter, match="no length of time"):
        DURATION.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "size"),
    [("100", 100), ("64MiB", 64 << 20), ("1 gib", 1 << 30), ("100kB", 100_000), ("2g", 2 << 30), (7, 7)],
)
def test_sizes(text: object, size: int) -> None:
    assert SIZE.convert(text, None, None) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5MiB", "many", "3 parsecs", "1" * 30])
def test_what_is_no_size_is_said(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no size"):
        SIZE.convert(text, None, None)


@given(st.text(min_size=1), st.integers(-9, 9))
def test_any_name_may_stand_before_the_axis(name: str, axis: int) -> None:
    assert AXES.convert(f"{name}:{axis}", None, None) == (name, axis)


@pytest.mark.parametrize("text", ["logits", "logits:", "logits:x", "logits:1.5"])
def test_what_is_no_axis_is_said(text: str) -> None:
    with pytest.raises(click.BadParameter, match="NAME:AXIS"):
        AXES.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "share"), [("5%", 0.05), ("0.05", 0.05), (" 2.5 % ", 0.025), ("150%", 1.5), ("0", 0)]
)
def test_shares_of_a_whole(text: str, share: float) -> None:
    assert PERCENT.convert(text, None, None) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "told"), [("much", "no share"), ("-5%", "no share"), ("5", "say 5% if you mean")]
)
def test_what_is_no_share_of_a_whole_is_said(text: str, told: str) -> None:
    with pytest.raises(click.BadParameter, match=told):
        PERCENT.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "share"), [("0.5%", 0.005), ("0.005", 0.005), ("0", 0), ("2 %", 0.02), ("5", 5)]
)
def test_shares(text: str, share: float) -> None:
    assert SHARE.convert(text, None, None) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "%", "-1%", "nan", "inf", "much"])
def test_what_is_no_share_is_said(text: str) -> None:
    with pytest.raises(click.BadParameter, match="no share"):
        SHARE.convert(text, None, None)


def test_a_function_of_a_module_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_metrics_here.py").write_text("def score(feeds, outputs): return 1.0\nname = 'x'\n")
    (tmp_path / "broken_metrics_here.py").write_text("raise RuntimeError('no database')")
    monkeypatch.chdir(tmp_path)
    assert FUNCTION.convert("my_metrics_here:score", None, None)([], []) == 1.0
    for text, said in {
        "my_metrics_here": "MODULE:FUNCTION",
        "my_metrics_here:nothing": "no attribute",
        "my_metrics_here:name": "no function",
        "no_such_module_here:score": "No module named",
        "broken_metrics_here:score": "no database",
    }.items():
        with pytest.raises(click.BadParameter, match=said):
            FUNCTION.convert(text, None, None)

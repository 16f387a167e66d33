from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from examples import demo
from hotlap.runtime import default_session
from tests.real import real


def test_the_reader_reads_its_pictures(tmp_path: Path) -> None:
    real("ocr-rec")
    job = demo.reading(tmp_path)
    assert len(job.feeds) == demo.LINES == len(list((tmp_path / "pictures").glob("*.png")))
    assert (tmp_path / "line.npy").exists()
    read = job.read(default_session(job.model.path).run)
    assert read.headline == "line-00.png reads: The quick brown fox"
    assert len(read.each) == demo.LINES and "Please mind the gap" in read.each


def test_the_sentences_find_their_partners() -> None:
    real("minilm")
    job = demo.comparing()
    read = job.read(default_session(job.model.path).run)
    assert read.headline.startswith('most similar: "') and ", cosine 0." in read.headline
    assert len(read.each) == len(job.feeds) == 80


def test_the_table_has_a_column_for_each_model() -> None:
    columns = [{"": "reads", "ratio": "1.50 (1.4 to 1.6)"}, {"": "finds", "ratio": "1.00"}]
    made = demo.table(columns)
    assert [str(c.header) for c in made.columns] == ["", "reads", "finds"]
    assert made.row_count == 1


def tuning(*, won: bool, void: bool = False, ran: bool = True) -> Any:
    side = SimpleNamespace(p50=0.003)
    other = SimpleNamespace(p50=0.002, target=SimpleNamespace(label="cpu, 1 thread"))
    found = SimpleNamespace(ratio=1.5, low=1.4, high=1.6, void=void, verdict="no difference", a=side, b=other)
    return SimpleNamespace(comparison=found if ran else None, won=won)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (tuning(won=True), "1.50 (95 % interval 1.40 to 1.60) times as fast"),
        (
            tuning(won=False),
            "1.50 (95 % interval 1.40 to 1.60) times as fast: no difference, so the default stays",
        ),
        (tuning(won=False, void=True), "none: too much else ran on this machine to tell; the default stays"),
        (tuning(won=False, ran=False), "none: nothing else ran; the default stays"),
    ],
)
def test_the_ratio_is_said_as_it_is(found: Any, said: str) -> None:
    assert demo.measured(found)["ratio"] == said


def test_both_times_are_shown_and_none_where_nothing_can_be_said() -> None:
    shown = demo.measured(tuning(won=True))
    assert shown["default ORT, p50"] == "3.00 ms"
    assert shown["best candidate, p50"] == "2.00 ms (cpu, 1 thread)"
    assert demo.measured(tuning(won=False, void=True))["default ORT, p50"] == ""

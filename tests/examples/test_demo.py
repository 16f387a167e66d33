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
    found = SimpleNamespace(ratio=1.5, low=1.4, high=1.6, void=void, a=side, b=SimpleNamespace(p50=0.002))
    return SimpleNamespace(comparison=found if ran else None, won=won)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (tuning(won=True), "1.50 (1.40 to 1.60) times as fast; p50 3.00 ms became 2.00 ms"),
        (tuning(won=False), "1: the default stays; the best other came out at 1.50 (1.40 to 1.60)"),
        (tuning(won=False, void=True), "1: the default stays; too much else ran to tell"),
        (tuning(won=False, ran=False), "1: the default stays, nothing else ran"),
    ],
)
def test_the_ratio_is_said_as_it_is(found: Any, said: str) -> None:
    assert demo.measured(found) == {"ratio": said}

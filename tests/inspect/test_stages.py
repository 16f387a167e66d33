from __future__ import annotations

from pathlib import Path

from hotlap.inspect.stages import Answer, read_answer, write_answer
from hotlap.plan import Facts


def test_an_answer_comes_back_as_it_was(tmp_path: Path) -> None:
    answer = Answer(
        placement={"cpu": ['Add "a"']},
        facts=Facts(rows="independent", axes={"x": 0}),
        ranges={"v": (-1.0, 2.0, True)},
    )
    write_answer(tmp_path, "probe", answer)
    assert read_answer(tmp_path, "probe") == answer


def test_a_stage_that_came_to_no_end_has_none(tmp_path: Path) -> None:
    assert read_answer(tmp_path, "load") is None
    (tmp_path / "load.answer").write_bytes(b"half")
    assert read_answer(tmp_path, "load") is None

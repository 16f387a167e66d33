from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from hotlap.cli.differences import tables
from hotlap.verify import Noise, OutputDiff

DIFF: dict[str, Any] = {
    "name": "last_hidden_state",
    "max_abs": 1.23e-06,
    "mean_abs": 4.56e-08,
    "max_rel": 1.4e-06,
    "range": 1.0,
    "rms": 3.4e-08,
    "max_relative": 0.0123,
    "within": 0.9987,
    "cosine": 0.999999,
}


def printed(width: int, **more: Any) -> str:
    noise = Noise(max_rel=1.4e-06, rms=3.4e-08)
    diff = OutputDiff(**{**DIFF, "noise": noise, **more})
    console = Console(file=io.StringIO(), width=width)
    for table in tables((diff, diff), console.width):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_no_number_is_cut_at_any_width(width: int) -> None:
    said = printed(width, top1=1.0, top5=1.0)
    for text in ("1.23e-06", "4.56e-08", "1.4e-06", "(3.4e-08)", "99.87%", "0.999999", "exact:", "0.012"):
        assert text in said
    assert "…" not in said and max(map(len, said.splitlines())) <= width


def test_a_wide_terminal_has_a_row_for_each_output_and_a_narrow_one_a_table() -> None:
    assert printed(200).count("of range") == 1 and printed(200).count("last_hidden_state") == 2
    assert printed(60).count("of range") == 2

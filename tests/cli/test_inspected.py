from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hotlap.cli.inspected import print_inspection, size
from hotlap.inspect.finding import Finding
from hotlap.model.cost import Cost
from hotlap.model.formula import Formula, Term
from hotlap.plan import Facts
from hotlap.tensors import TensorSpec
from tests.inspect.test_inspection import inspection


@pytest.mark.parametrize(
    ("nbytes", "said"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (86_700_000, "86.7 MB"), (2_500_000_000, "2.5 GB")],
)
def test_a_size_has_three_digits(nbytes: int, said: str) -> None:
    assert size(nbytes) == said


def test_what_ran_and_what_was_not_learned_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = msgspec.structs.replace(
        inspection(tmp_path),
        ran=True,
        data="yours",
        placement={"cuda": 5, "cpu": 2},
        facts=Facts(rows="dependent", repeats="equal"),
        unknown=("ranges of values: too large",),
    )
    print_inspection(found, ["a note"])
    out = capsys.readouterr().out
    assert "5 nodes on cuda, 2 nodes on cpu; on your inputs; rows dependent, equal runs equal" in out
    assert "Not learned\n  ranges of values: too large\n" in out
    assert out.index("a note") < out.index("0 errors")


def test_what_a_call_costs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = inspection(tmp_path)

    def told(cost: Cost) -> str:
        anatomy = msgspec.structs.replace(found.anatomy, cost=cost)
        print_inspection(msgspec.structs.replace(found, anatomy=anatomy))
        return capsys.readouterr().out

    macs, nbytes = Formula((Term(2_000_000, {"N": 1}),)), Formula((Term(4096),))
    assert "cost        2M*N multiply-adds, 4.1k bytes a call\n" in told(Cost(macs=macs, nbytes=nbytes))
    assert "cost        4.1k bytes a call\n" in told(Cost(nbytes=nbytes))
    assert "cost        unknown: too deep\n" in told(Cost(why="too deep"))


def test_a_model_that_did_not_load_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_inspection(msgspec.structs.replace(inspection(tmp_path), ran=True))
    assert "it does not load" in capsys.readouterr().out


def test_long_lists_are_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = inspection(tmp_path)
    anatomy = msgspec.structs.replace(
        found.anatomy,
        inputs=tuple(TensorSpec.of(f"x{n}", "float32", [1]) for n in range(40)),
        operators={f"Op{n}": 40 - n for n in range(9)},
    )
    print_inspection(msgspec.structs.replace(found, anatomy=anatomy))
    out = capsys.readouterr().out
    assert "… 28 more" in out
    assert "35 Op5, … 3 other operators" in out


def test_lines_that_say_nothing_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finding = Finding(code="HL403", severity="info", message="text", cost="a copy")
    print_inspection(msgspec.structs.replace(inspection(tmp_path), findings=(finding,)))
    out = capsys.readouterr().out
    assert "info HL403 text\n  cost  a copy\n" in out
    assert "fix" not in out

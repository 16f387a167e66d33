from __future__ import annotations

from hotlap.inspect.by_operator import by_operator


def test_the_most_frequent_come_first() -> None:
    assert by_operator(["Add", "Resize", "Resize"]) == "2 Resize, Add"


def test_five_are_told_at_most() -> None:
    assert by_operator(f"Op{n}" for n in range(6)) == "Op0, Op1, Op2, Op3, Op4, …"
    assert by_operator([]) == ""

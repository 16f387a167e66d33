from __future__ import annotations

from hotlap.inspect.by_operator import by_operator


def test_the_most_frequent_come_first() -> None:
    assert by_operator(['Add "a"', 'Resize "r"', 'Resize "s"']) == "2 Resize, Add"


def test_names_and_places_do_not_matter() -> None:
    assert by_operator(['If "i" / then_branch / Conv "a "b""', 'Conv ""', "Conv"]) == "3 Conv"


def test_five_operators_at_most_are_named() -> None:
    assert by_operator(f'Op{n} "x"' for n in range(6)) == "Op0, Op1, Op2, Op3, Op4, …"
    assert by_operator([]) == ""

from __future__ import annotations

from dataclasses import replace

from hotlap.inspect.case import Case, Ran, Runtime
from hotlap.inspect.rules import copies_between_providers
from hotlap.model.walk import Walk
from tests import tiny

PLACEMENT = {
    "cpu": ("NonZero", "Resize", "Resize"),
    "cuda": ("Conv", "Conv", "Conv", "Relu"),
}


def case(copies: int, placement: dict[str, tuple[str, ...]]) -> Case:
    return Case(
        anatomy=None,  # these rules do not look at it
        walk=Walk(tiny.mlp()),
        weights={},
        runtime=Runtime(ort="1.32.0", providers=("cuda", "cpu")),
        ran=Ran(copies=copies, placement=placement),
    )


def test_copies_are_counted_beside_the_nodes_of_each_provider() -> None:
    (found,) = copies_between_providers.find(case(6, PLACEMENT))
    assert (found.code, found.severity) == ("HL503", "warning")
    assert found.message == (
        "6 tensors are copied between providers in every run: 4 nodes on cuda; 3 nodes on cpu "
        "(2 Resize, NonZero on cpu)"
    )
    assert found.cost == "6 copies a run, and the wait for each"


def test_one_copy_is_one() -> None:
    (found,) = copies_between_providers.find(case(1, {"cuda": ("Conv",)}))
    assert found.message == "1 tensor is copied between providers in every run: 1 nodes on cuda"


def test_a_split_without_copies_has_no_finding() -> None:
    assert list(copies_between_providers.find(case(0, PLACEMENT))) == []
    assert list(copies_between_providers.find(replace(case(1, PLACEMENT), ran=None))) == []

from __future__ import annotations

from hotlap.plan import Facts, Serve
from hotlap.serve.served import Served
from tests.serve import made


def test_a_model_is_not_ready_and_not_batched_until_somebody_says_so() -> None:
    model = Served(name="m", runner=made.fake())
    assert (model.version, model.ready, model.lanes) == ("1", False, 1)
    assert (model.facts, model.serve) == (Facts(), Serve())


def test_each_model_counts_for_itself() -> None:
    one, other = (Served(name=name, runner=made.fake()) for name in "ab")
    assert one.statistics is not other.statistics

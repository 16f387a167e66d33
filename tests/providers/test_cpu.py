from __future__ import annotations

from hotlap.providers import Cpu
from hotlap.providers.listing import options_of


def test_it_has_no_options() -> None:
    assert [o.name for o in options_of(Cpu)] == ["extra"]
    assert Cpu().options(4, "on") == {}

from __future__ import annotations

from dataclasses import fields

import pytest

from hotlap.errors import UsageError
from hotlap.serve.http.limits import Limits


@pytest.mark.parametrize("name", [f.name for f in fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_every_limit_is_above_zero(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"limit {name}"):
        Limits(**{name: value})  # type: ignore[arg-type]


def test_the_defaults_leave_room_for_the_largest_body() -> None:
    assert Limits().bodies >= Limits().body

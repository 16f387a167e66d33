"""Every real model of the suite is inspected, run and judged by every rule."""

from __future__ import annotations

import pytest

from tests.inspect.inspected import inspected
from tests.real import NAMES


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_is_inspected_to_the_end(name: str) -> None:
    found = inspected(name)
    assert found.unknown == ()
    assert (found.ran, found.data) == (True, "yours")
    assert found.facts is not None and found.facts.repeats == "equal"
    assert set(found.placement) == {"cpu"}

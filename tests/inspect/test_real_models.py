"""Every real model of the suite is inspected, run and judged by every rule."""

from __future__ import annotations

import pytest

from examples.inputs.inspections import inspection
from tests.real import NAMES, real

# What was confirmed by hand, with other means than the rules.
CONFIRMED = {
    "minilm": {"HL405"},  # its outputs "output" and "463" are its inputs
    "silero": {"HL407"},  # its four LSTMs give out Y, and only Y_h and Y_c are read
    "ddddocr": {"HL407"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_is_inspected_to_the_end(name: str) -> None:
    found = inspection(real(name))
    assert found.unknown == ()
    assert (found.ran, found.data) == (True, "yours")
    assert found.facts is not None and found.facts.repeats == "equal"
    assert set(found.placement) == {"cpu"}
    assert {f.code for f in found.findings} >= CONFIRMED.get(name, set())

from __future__ import annotations

import onnxruntime
import pytest

from hotlap.plan import RUN_OPTIONS, Option
from hotlap.providers import PROVIDERS


@pytest.mark.parametrize("option", RUN_OPTIONS.values(), ids=lambda o: o.name)
def test_every_option_is_described_and_needs_what_exists(option: Option) -> None:
    assert option.doc.endswith(".") and option.default
    assert set(option.needs) <= set(PROVIDERS)
    if option.pattern:
        assert option.check(option.example, "k") == option.example


def test_attributes_are_those_of_orts_run_options() -> None:
    run_options = onnxruntime.RunOptions()
    assert all(hasattr(run_options, name) for name, o in RUN_OPTIONS.items() if o.attribute)

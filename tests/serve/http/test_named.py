"""The model that an address names."""

from __future__ import annotations

import pytest

from hotlap.serve.http.named import served
from hotlap.serve.status import Unknown
from tests.serve.http.asking import Asking


def test_a_model_is_found_with_its_version_and_without() -> None:
    engine = Asking().engine
    assert (
        served(engine, {"model": "n"}) is served(engine, {"model": "n", "version": "3"}) is engine.models["n"]
    )


@pytest.mark.parametrize(
    "match", [{"model": ""}, {"model": "M"}, {"model": "n", "version": ""}, {"model": "m\0"}]
)
def test_nothing_else_is(match: dict[str, str]) -> None:
    with pytest.raises(Unknown):
        served(Asking().engine, match)


def test_another_name_is_told_to_who_may_know() -> None:
    for hint in (True, False):
        with pytest.raises(Unknown) as caught:
            served(Asking().engine, {"model": "mm"}, hint=hint)
        assert ('"m"' in str(caught.value)) is hint

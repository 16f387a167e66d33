from __future__ import annotations

import dataclasses

import pytest

from hotlap.wire import InferRequest, Region, Wanted


def test_a_request_says_by_itself_that_nothing_special_is_wanted() -> None:
    request = InferRequest()
    assert (request.id, request.outputs, request.binary, request.priority) == ("", (), False, 0)
    assert request.timeout is None
    assert request.feed == request.regions == request.shapes == request.parameters == {}


def test_two_requests_share_no_feed() -> None:
    assert InferRequest().feed is not InferRequest().feed


def test_wishes_and_regions_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Wanted("y").binary = True  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        Region("r", 0, 4).nbytes = 8  # type: ignore[misc]

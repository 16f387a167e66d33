"""Every real model of the suite opens, says where it runs, and runs on a made feed."""

from __future__ import annotations

import numpy as np
import pytest

import hotlap
from hotlap import Model
from hotlap.runtime import default_session, find_feed
from tests.real import NAMES, real


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_on_a_made_feed_as_a_plain_session_does(name: str) -> None:
    model = real(name)
    graph = Model.load(model.path)
    with hotlap.open(model.path) as runner:
        assert runner.notes == (), "it was warmed"
        assert runner.inputs == graph.inputs
        assert set(runner.placement) == {"cpu"}
        feed = find_feed(runner.run, runner.inputs, limits=graph.id_limits())
        ours = runner.run(feed)
    plain = default_session(model.path).run(feed)
    for output in plain:
        assert np.array_equal(ours[output], plain[output]) or np.allclose(
            ours[output], plain[output], rtol=1e-3, atol=1e-3
        )

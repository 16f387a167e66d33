from __future__ import annotations

from typing import Any

import pytest

from hotlap.errors import PlanError
from hotlap.plan import Plan

AFFINITIES = "session.intra_op_thread_affinities"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"provider": {"cuda": {}}}, 'provider.cuda: "cuda" is not in providers (cpu)'),
        ({"session": {"inter_op_num_threads": 2}}, 'does nothing without execution_mode = "ORT_PARALLEL"'),
        ({"session": {"session.inter_op.allow_spinning": False}}, "does nothing without execution_mode"),
        ({"session": {"ep.dml.enable_graph_capture": True}}, "does nothing without directml in providers"),
        ({"run": {"gpu_graph_id": 1}}, "run.gpu_graph_id: does nothing without cuda or tensorrt"),
        ({"session": {"session.force_spinning_stop": True}, "spin": "off"}, 'does nothing with spin = "off"'),
        ({"session": {"session.disable_cpu_ep_fallback": True}}, 'contradicts "cpu" in providers'),
        ({"session": {AFFINITIES: "1;2"}, "threads": 2}, "places 2 threads, so threads must be 3"),
        (
            {"session": {AFFINITIES: "1"}},
            "threads must be 2 (the calling thread is not placed), and is not given",
        ),
    ],
)
def test_what_would_do_nothing_or_fail_together_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan(**fields)
    assert said in str(caught.value)


def test_what_goes_together_passes() -> None:
    Plan(session={"inter_op_num_threads": 2, "execution_mode": "ORT_PARALLEL"})
    Plan(session={"session.disable_cpu_ep_fallback": True}, providers=["cuda"])
    Plan(session={"session.disable_cpu_ep_fallback": False})
    Plan(session={AFFINITIES: "1,2;3-4"}, threads=3)
    Plan(session={"session.force_spinning_stop": True})

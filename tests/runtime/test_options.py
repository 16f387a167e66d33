from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.plan import Plan
from hotlap.runtime.options import run_options


def test_the_plan_is_what_they_say() -> None:
    plan = Plan(run={"log_severity_level": 3, "logid": "a", "memory.enable_memory_arena_shrinkage": "cpu:0"})
    options = run_options(plan, Path())
    assert (options.log_severity_level, options.logid) == (3, "a")
    base = type(options).__bases__[0]
    assert base.get_run_config_entry(options, "memory.enable_memory_arena_shrinkage") == "cpu:0"


def test_a_call_overrides_the_plan_for_itself() -> None:
    plan = Plan(run={"logid": "a"})
    mine = run_options(plan, Path(), log_id="b", severity=1)
    assert (mine.logid, mine.log_severity_level) == ("b", 1)
    assert run_options(plan, Path()).logid == "a"


def test_the_graph_id_is_answered_without_asking_ort() -> None:
    options = run_options(Plan(), Path())
    assert options.get_run_config_entry("gpu_graph_id") == "", "not set: as ORT's default"
    with pytest.raises(RuntimeError, match="no run config entry other"):
        options.get_run_config_entry("other")


def test_a_graph_id_of_the_plan_is_told_to_both() -> None:
    plan = Plan(providers=("cuda", "cpu"), run={"gpu_graph_id": -1})
    options = run_options(plan, Path())
    assert options.get_run_config_entry("gpu_graph_id") == "-1"
    assert type(options).__bases__[0].get_run_config_entry(options, "gpu_graph_id") == "-1"

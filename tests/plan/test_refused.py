"""Settings copied from articles: ONNX Runtime takes them in silence, a plan answers with the right one."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest

from hotlap.errors import PlanError
from hotlap.plan import RUN_OPTIONS, SESSION_OPTIONS, Plan
from hotlap.plan.refused import PLAN_INSTEAD, RUN_INSTEAD, SESSION_INSTEAD
from tests import tiny


def test_what_is_refused_is_in_no_table() -> None:
    assert not set(SESSION_INSTEAD) & set(SESSION_OPTIONS)
    assert not set(RUN_INSTEAD) & set(RUN_OPTIONS)
    assert not set(PLAN_INSTEAD) & set(Plan.__struct_fields__)


def test_options_named_as_the_right_ones_exist() -> None:
    for words in SESSION_INSTEAD.values():
        if words.endswith("; ORT ignores this key") and "," not in words and "nothing" not in words:
            assert words.partition(";")[0] in SESSION_OPTIONS


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        (
            '[session]\n"session.intra_op.allow_spining" = "0"',
            'did you mean "session.intra_op.allow_spinning"?',
        ),
        ('[session]\n"session.intra_op.allow_spinning" = "false"', "write instead spin"),
        ('[session]\n"session.disable_prepacking" = "false"', 'expected true or false, got the text "false"'),
        ('[session]\n"session.intra_op.spin_duration_us" = "abc"', "write instead spin"),
        ('[session]\n"session.intra_op.spin_backoff_max" = 0', "expected a whole number from 1 to 64"),
        ('[session]\n"session.dynamic_block_base" = -1', "expected a whole number from 0 to 1024"),
        ('[session]\n"session.intra_op_num_threads" = "4"', "write instead threads"),
        ("[session]\nadd_free_dimension_override_by_name = 1", "write instead warm"),
        ("[session]\ninter_op_num_threads = 2", 'does nothing without execution_mode = "ORT_PARALLEL"'),
        ("[session]\nintra_op_num_threads = -1", "write instead threads"),
        ("threads = -1", "expected a whole number from 1 to 4096"),
        ("threads = 2.0", "expected a whole number, got the number 2.0"),
        ('providers = "CPUExecutionProvider"', "expected a list"),
        (
            "[run]\nuse_deterministic_compute = true",
            "write instead use_deterministic_compute under [session]",
        ),
        ("[run]\nonly_execute_path_to_fetches = true", "cut the graph instead"),
        (
            '[session]\ngraph_optimization_level = "all"',
            'expected one of "ORT_DISABLE_ALL", "ORT_ENABLE_BASIC"',
        ),
        ('[provider.cuda]\ncudnn_conv_algo_search = "DEFAULT"', '"cuda" is not in providers'),
        ('providers = ["openvino"]\n[provider.openvino]\ndevice_type = "CPU_FP32"', "write instead device"),
    ],
)
def test_a_setting_from_an_article_is_answered(toml: str, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan.loads(toml)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("session.intra_op.allow_spining", "0"),
        ("session.intra_op.allow_spinning", "false"),
        ("session.intra_op_num_threads", "4"),
        ("session.dynamic_block_base", "-1"),
    ],
)
def test_onnxruntime_takes_them_in_silence(tmp_path: Path, key: str, value: str) -> None:
    """The reason for all this. When ONNX Runtime begins to complain, the table can be smaller."""
    node = tiny.node("Add", ["x", "x"], ["y"])
    ends = [tiny.info(name, tiny.T.FLOAT, ["n", 4]) for name in ("x", "y")]
    path = tiny.save(tiny.model([node], ends[:1], ends[1:]), tmp_path / "m.onnx")
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry(key, value)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("key", ["session.optimized_model_filepath", "session.enable_profiling"])
def test_onnxruntime_ignores_the_entries_named_like_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    node = tiny.node("Add", ["x", "x"], ["y"])
    ends = [tiny.info(name, tiny.T.FLOAT, ["n", 4]) for name in ("x", "y")]
    path = tiny.save(tiny.model([node], ends[:1], ends[1:]), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry(key, "written")
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
    assert "ORT ignores this key" in SESSION_INSTEAD[key]

from __future__ import annotations

from typing import Any

import pytest

from hotlap.errors import PlanError
from hotlap.plan.tables import check_provider, check_run, check_session, typed_options
from hotlap.providers import PROVIDERS, Cuda, Provider


def said_by(check: Any, *values: Any) -> str:
    with pytest.raises(PlanError) as caught:
        check(*values)
    return str(caught.value)


def test_both_spellings_of_a_dotted_key_are_one_key() -> None:
    quoted = {"session.dynamic_block_base": 4}
    assert check_session(quoted) == check_session({"session": {"dynamic_block_base": 4}}) == quoted
    assert "written twice" in said_by(check_session, quoted | {"session": {"dynamic_block_base": 4}})


@pytest.mark.parametrize(
    ("session", "said"),
    [
        (
            {"session.dynamic_blok_base": 4},
            'unknown option (did you mean "session.dynamic_block_base"?); ORT would ignore it in silence',
        ),
        (
            {"session.dynamic_block_base": -1},
            'session.dynamic_block_base": expected a whole number from 0',
        ),
        (
            {"intra_op_num_threads": 4},
            "session.intra_op_num_threads: write instead threads, at the top of the plan",
        ),
        ({"session.intra_op.allow_spinning": False}, "write instead spin, at the top of the plan"),
        ({"session.moe.offload.mode": "x"}, "ORT has it in its binary and in no description"),
        ({"gpu_graph_id": 1}, "session.gpu_graph_id: it belongs under [run]"),
        ({"use_tf32": True}, "session.use_tf32: it belongs under [provider.cuda]"),
        ({"device_id": 1}, "it belongs under [provider.cuda] or [provider.tensorrt]"),
        ({"extra": 1}, "session.extra: unknown option"),
        ({"a": {}}, "session.a: unknown option"),
        ([], "session: expected a table, got a list"),
    ],
)
def test_wrong_session_options_are_answered(session: Any, said: str) -> None:
    assert said in said_by(check_session, session)


def test_run_options_are_checked_too() -> None:
    assert check_run({"gpu_graph_id": -1, "logid": "x"}) == {"gpu_graph_id": -1, "logid": "x"}
    assert "run.enable_mem_pattern: it belongs under [session]" in said_by(
        check_run, {"enable_mem_pattern": True}
    )


def test_provider_tables_have_short_names_and_sorted_keys() -> None:
    given = {"CUDAExecutionProvider": {"use_tf32": False, "device_id": 1}}
    assert check_provider(given) == {"cuda": {"device_id": 1, "use_tf32": False}}
    assert check_provider({"cuda": Cuda(device_id=2)}) == {"cuda": {"device_id": 2}}
    assert "two tables" in said_by(check_provider, {"cuda": {}, "CUDAExecutionProvider": {}})
    assert 'provider: unknown provider "cudda"' in said_by(check_provider, {"cudda": {}})
    assert "provider.cuda: expected a table, got the number 1" in said_by(check_provider, {"cuda": 1})


@pytest.mark.parametrize(
    ("name", "table", "said"),
    [
        (
            "cuda",
            {"cudnn_conv_algo_serach": "HEURISTIC"},
            'provider.cuda.cudnn_conv_algo_serach: unknown option (did you mean "cudnn_conv_algo_search"?)',
        ),
        ("cuda", {"cudnn_conv_algo_search": "HEURISTICS"}, '"HEURISTICS" (did you mean "HEURISTIC"?)'),
        ("cuda", {"device_id": -1}, "provider.cuda.device_id: expected a whole number of at least 0, got"),
        ("cuda", {"device_id": "0"}, 'provider.cuda.device_id: expected a whole number, got the text "0"'),
        ("cuda", {"use_tf32": "1"}, 'provider.cuda.use_tf32: expected true or false, got the text "1"'),
        ("cuda", {"trt_fp16_enable": True}, "it belongs under [provider.tensorrt]"),
        ("cuda", {"user_compute_stream": 1}, "write instead no plan can: it is an address"),
        ("cuda", {"extra": {"use_tf32": "0"}}, "provider.cuda.extra.use_tf32: hotlap knows it"),
        ("cuda", {"extra": {"new": 1}}, "provider.cuda.extra.new: expected a text, got the number 1"),
        (
            "tensorrt",
            {"trt_builder_optimization_level": 6},
            "expected a whole number of at most 5, got the number 6",
        ),
        ("tensorrt", {"trt_ep_context_file_path": "../x"}, "expected a relative file name"),
        ("openvino", {"num_of_threads": 2}, "write instead threads, at the top of the plan"),
        ("openvino", {"precision": "fp16"}, 'expected one of "bf16", "f16", "f32", got the text "fp16"'),
        ("qnn", {"htp_graph_finalization_optimization_mode": True}, "expected one of 0, 1, 2, 3, got true"),
        ("cpu", {"use_arena": True}, "write instead enable_cpu_mem_arena under [session]"),
        ("cpu", {"anything": 1}, "the cpu provider has no options"),
    ],
)
def test_wrong_provider_options_are_answered(name: str, table: dict[str, Any], said: str) -> None:
    assert said in said_by(typed_options, PROVIDERS[name], table)


def test_a_right_table_becomes_the_typed_value() -> None:
    typed: Provider = typed_options(Cuda, {"use_tf32": False, "extra": {"of_later": "1"}})
    assert typed == Cuda(use_tf32=False, extra={"of_later": "1"})

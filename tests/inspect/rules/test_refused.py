from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.inspect.case import Ran
from hotlap.inspect.rules import nodes_without_provider, refused
from tests import tiny
from tests.inspect.cases import found


def test_a_refusal_is_an_error_in_onnx_runtimes_words(tmp_path: Path) -> None:
    ran = Ran(refusal="ONNX Runtime does not load it: Type Error: no")
    (finding,) = found(refused, tiny.add(), tmp_path, ran=ran)
    assert (finding.severity, finding.message) == ("error", "it does not load: Type Error: no")


def test_a_refused_operator_is_left_to_its_own_rule(tmp_path: Path) -> None:
    ran = Ran(refusal="No opset import for domain 'example.com'")
    assert found(refused, tiny.unknown_operator(), tmp_path, ran=ran) == []


@pytest.mark.parametrize(
    "said",
    [
        "Could not find an implementation for Conv(11) node with name 'c'",
        "cuda does not take 3 of 6 nodes (2 Resize, NonZero), and the CPU was not asked for",
    ],
)
def test_what_no_provider_takes_is_left_to_its_own_rule(tmp_path: Path, said: str) -> None:
    ran = Ran(refusal=said)
    assert found(refused, tiny.add(), tmp_path, ran=ran) == []
    assert found(nodes_without_provider, tiny.add(), tmp_path, ran=ran) != []


def test_a_crash_while_it_ran_is_an_error(tmp_path: Path) -> None:
    (finding,) = found(refused, tiny.add(), tmp_path, ran=Ran(failure="the process crashed (SIGSEGV)"))
    assert finding.message == "running it ends the process: the process crashed (SIGSEGV)"


def test_the_users_inputs_must_run_and_made_ones_need_not(tmp_path: Path) -> None:
    failed = Ran(failure='input "x": missing', data="yours")
    (finding,) = found(refused, tiny.add(), tmp_path, ran=failed)
    assert finding.message == 'it does not run on your inputs: input "x": missing'
    assert found(refused, tiny.add(), tmp_path, ran=Ran(failure="no input could be made")) == []


def test_a_model_that_loads_and_runs_is_none(tmp_path: Path) -> None:
    assert found(refused, tiny.add(), tmp_path, ran=Ran()) == []

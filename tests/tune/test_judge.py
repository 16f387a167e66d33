from __future__ import annotations

from hotlap.bench import Target
from hotlap.errors import TargetFailed
from hotlap.plan import ModelRef, Plan
from hotlap.tune.candidates import Candidate
from hotlap.tune.judge import Judge
from hotlap.verify import Verdict

MODEL = ModelRef(path="m.onnx", digest="sha256:" + "0" * 64)
TARGET = Target.default("m.onnx")


class ScriptedReference:
    """Stands in for `hotlap.verify.Reference`: says yes to the levels it is given."""

    def __init__(self, *passing: str, crash: bool = False) -> None:
        self.passing, self.crash = passing, crash
        self.asked: list[str] = []

    def judge(self, target: Target, level: str) -> Verdict:
        self.asked.append(level)
        if self.crash:
            raise TargetFailed("openvino: the process crashed (SIGSEGV)")
        return Verdict(level=level, passed=level in self.passing, reason=level)


def candidate(arithmetic: str = "f32", threads: int = 1) -> Candidate:
    plan = Plan(model=MODEL, providers=("openvino",), threads=threads)
    return Candidate(label="x", plan=plan, arithmetic=arithmetic)


def judge(reference: ScriptedReference, level: str) -> Judge:
    return Judge(reference, level)  # type: ignore[arg-type]


def test_one_verdict_serves_all_candidates_of_a_provider_and_an_arithmetic() -> None:
    reference = ScriptedReference("exact")
    gate = judge(reference, "exact")
    first = gate.judge(candidate(threads=1), TARGET)
    assert gate.judge(candidate(threads=2), TARGET) is first
    assert reference.asked == ["exact"]
    gate.judge(candidate("bf16"), TARGET)
    assert reference.asked == ["exact", "exact"]


def test_full_precision_is_tried_at_exact_before_close() -> None:
    reference = ScriptedReference("exact", "close")
    assert judge(reference, "close").judge(candidate(), TARGET).level == "exact"
    reference = ScriptedReference("close")
    verdict = judge(reference, "close").judge(candidate(), TARGET)
    assert (verdict.level, verdict.passed, reference.asked) == ("close", True, ["exact", "close"])


def test_full_precision_needs_no_metric_where_its_answers_are_the_same() -> None:
    reference = ScriptedReference("exact")
    assert judge(reference, "task").judge(candidate(), TARGET).level == "exact"
    reference = ScriptedReference("task")
    assert judge(reference, "task").judge(candidate(), TARGET).level == "task"
    assert reference.asked == ["exact", "task"]


def test_reduced_precision_is_judged_at_the_level_asked_for() -> None:
    reference = ScriptedReference("exact", "close")
    assert judge(reference, "close").judge(candidate("bf16"), TARGET).level == "close"
    assert reference.asked == ["close"]


def test_a_candidate_that_crashes_while_it_is_judged_is_refused_and_not_the_end() -> None:
    verdict = judge(ScriptedReference(crash=True), "exact").judge(candidate(), TARGET)
    assert not verdict.passed
    assert "SIGSEGV" in verdict.reason

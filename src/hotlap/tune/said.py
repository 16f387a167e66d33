"""What a tuning says in the end, in words and in the plan."""

from __future__ import annotations

from hotlap import __version__
from hotlap.bench import Comparison
from hotlap.bench.stats import FEW
from hotlap.machine import Machine
from hotlap.plan import Evidence
from hotlap.tune.candidates import Candidate
from hotlap.verify import Verdict

__all__ = ["evidence", "say"]

THRIFTY = 0.8
"""A candidate that needs less than this share of the default's CPU time for each request is told of."""


def say(
    plan: Candidate, tried: Candidate | None, comparison: Comparison | None, won: bool, refused: str | None
) -> str:
    baseline = "onnxruntime.InferenceSession(path) with no options"
    fallback = f"The plan is ONNX Runtime's default with the thread count set explicitly: {plan.label}."
    if comparison is None or tried is None:
        return f"No candidate could be chosen: {refused or 'none ran to the end'}. {fallback}"
    found = (
        f"{comparison.ratio:.2f} times as fast (95 % interval {comparison.low:.2f} to {comparison.high:.2f})"
    )
    if won:
        return f"{found} as {baseline}: {plan.label}."
    if comparison.void:
        why = f"{comparison.doubts[0].capitalize()}. Nothing can be said against {baseline}"
    elif comparison.verdict == "faster":
        tail = comparison.tail
        why = (
            f"The best, {tried.label}, is {found} as {baseline} at p50, but slower at p95: "
            f"{tail.ratio:.2f} ({tail.low:.2f} to {tail.high:.2f})"
        )
    elif (processes := min(len(comparison.a.processes), len(comparison.b.processes))) < FEW:
        sides = "1 process" if processes == 1 else f"{processes} processes"
        why = (
            f"Not enough data: with {sides} a side the best, {tried.label}, was {found} as {baseline}. "
            "More --time brings more of them"
        )
    elif comparison.verdict == "slower":
        why = f"Nothing is faster than {baseline}: the nearest, {tried.label}, was {found}"
    else:
        why = f"Nothing is faster than {baseline} beyond the noise: the best, {tried.label}, was {found}"
        why += _thrift(comparison)
    return f"{why}. {fallback}"


def _thrift(comparison: Comparison) -> str:
    """As fast, but on less CPU: no win by the rules, and worth knowing on a machine that is shared."""
    share = comparison.b.cpu_per_call / (comparison.a.cpu_per_call or 1.0)
    return f", on {share:.2f} of the CPU time a request" if 0 < share < THRIFTY else ""


def evidence(comparison: Comparison, verdict: Verdict | None) -> Evidence:
    machine = Machine.brief()
    return Evidence(
        baseline="onnxruntime.InferenceSession(path), no options",
        ratio=round(comparison.ratio, 4),
        low=round(comparison.low, 4),
        high=round(comparison.high, 4),
        percentile="p50",
        agreement=verdict.reason if verdict else "",
        machine=machine.cpu.model,
        date=comparison.b.date,
        hotlap=__version__,
        onnxruntime=next((v for n, v in machine.versions.items() if n.startswith("onnxruntime")), ""),
    )

"""What is tried: threads × spinning × provider, as plans."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hotlap.plan import ModelRef, Plan

__all__ = ["Candidate", "cpu_default", "make_candidates", "thread_counts"]


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One plan to try.

    Attributes:
        label: what tables call it, e.g. ``"cpu, 2 threads, spin off"``.
        plan: the plan, bound to the model.
        arithmetic: ``"f32"``, or the reduced precision that the provider computes in. A reduced precision is
            judged on the user's data alone.
        gate: candidates with the same word give the same answers, so one judgement serves them all.
    """

    label: str
    plan: Plan
    arithmetic: str = "f32"

    @property
    def gate(self) -> str:
        return f"{'+'.join(self.plan.providers)} {self.arithmetic}"


def thread_counts(usable: int) -> list[int]:
    """1, 2, 4, … below the usable threads, and those themselves: a few points of a smooth curve."""
    counts = {1, usable}
    power = 2
    while power < usable:
        counts.add(power)
        power *= 2
    if usable <= 4:
        counts |= set(range(1, usable + 1))
    return sorted(counts)


def cpu_default(model: ModelRef, threads: int) -> Candidate:
    """What ORT does when nobody says anything, but with the number of threads said."""
    return _cpu(model, threads, "on")


def make_candidates(
    model: ModelRef, usable: int, providers: Sequence[str], reduced: Sequence[str] = ("bf16",)
) -> list[Candidate]:
    """Every candidate for a model.

    Args:
        model: what the plans are bound to.
        usable: how many threads this process may use.
        providers: short names of the providers that load here.
        reduced: reduced precisions to try where a provider has them.
    """
    found: list[Candidate] = []
    for name in providers:
        if name == "cpu":
            found += [_cpu(model, n, s) for n in thread_counts(usable) for s in _spins(n)]
        elif name == "openvino":
            counts = thread_counts(usable)
            found += [_openvino(model, n, p) for n in counts for p in ("f32", *reduced)]
        else:
            chain = (name, "cuda", "cpu") if name == "tensorrt" and "cuda" in providers else (name, "cpu")
            plan = Plan(model=model, providers=chain, threads=usable, spin="off")
            found.append(Candidate(label=name, plan=plan))
    return found


def _spins(threads: int) -> tuple[str, ...]:
    return ("off",) if threads == 1 else ("on", "100us", "off")  # one thread has no pool that could spin


def _cpu(model: ModelRef, threads: int, spin: str) -> Candidate:
    spin = spin if threads > 1 else "off"
    plan = Plan(model=model, providers=("cpu",), threads=threads, spin=spin)
    label = "cpu, 1 thread" if threads == 1 else f"cpu, {threads} threads, spin {spin}"
    return Candidate(label=label, plan=plan)


def _openvino(model: ModelRef, threads: int, precision: str) -> Candidate:
    plan = Plan(
        model=model,
        providers=("openvino",),
        threads=threads,
        spin="off",
        provider={"openvino": {"precision": precision}},
    )
    label = f"openvino {precision}, {threads} thread{'s' if threads > 1 else ''}"
    return Candidate(label=label, plan=plan, arithmetic=precision)

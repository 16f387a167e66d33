"""`tune`: from a model to the fastest plan whose answers agree, within a budget of time, by measuring."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from hotlap import cpus
from hotlap.bench import Comparison, Target, Workload, compare
from hotlap.errors import ProviderUnavailable, TargetFailed
from hotlap.machine import Machine
from hotlap.model import Model
from hotlap.providers import PROVIDERS, provider_named
from hotlap.runtime import provider_status, usable_providers
from hotlap.tune import lap
from hotlap.tune.candidates import Candidate, cpu_default, make_candidates
from hotlap.tune.heats import Clock, Heats
from hotlap.tune.inputs import Feed, feeds_of, judged
from hotlap.tune.judge import Judge
from hotlap.tune.said import evidence, say
from hotlap.tune.tuning import Budget, Status, Trial, Tuning
from hotlap.verify import Reference
from hotlap.verify.levels import level_asked

__all__ = ["tune"]

RACE_ENDS = 0.55
"""Share of the budget after which no more candidates are raced; the rest is for the final comparison."""
RESERVE = 0.6
"""Seconds kept back for writing the folder."""
NOISE = 0.1
"""Share of the budget that measuring the model's own noise may take."""
METRIC = 0.1
"""Share of the budget that one judgement may take to call a metric again and again."""
MOST_PROCESSES = 40
"""A side, in the final comparison: beyond this the interval hardly narrows."""


def tune(
    model: str | Path,
    out: str | Path | None = None,
    *,
    data: str | Path | Sequence[Feed] | None = None,
    rows: bool = False,
    budget: Budget | None = None,
    level: str | None = None,
    scores: Mapping[str, int] | None = None,
    metric: Callable[..., float] | None = None,
    max_drop: float | None = None,
    providers: Sequence[str] | None = None,
    copy: bool = False,
    reference: bool = False,
    force: bool = False,
    on_progress: Callable[[float, str], None] | None = None,
) -> Tuning:
    """Find the fastest plan for one caller that calls again as soon as the answer is there.

    Every candidate runs alone in fresh processes, against ``onnxruntime.InferenceSession(path)`` with no
    options. What is clearly behind is dropped early. Whoever wins is measured against the default once more,
    and that comparison is the result. Its answers are compared with the default's before it may win.

    Args:
        model: the .onnx file.
        out: the folder to write (``plan.toml``, the model, ``tuning.json``); None: write nothing.
        data: a .npz file (one feed), a folder of them, or feeds in memory: the inputs to measure and to judge
            on. None: made to fit the signature, and then only the gate ``exact`` counts.
        rows: each .npz holds many feeds along axis 0.
        budget: how long it may take.
        level: the gate that the answers must pass, "exact", "close" or "task"; None: "task" with a metric,
            else "close" on given data, "exact" on generated inputs.
        scores: outputs whose axis is a ranking, name to axis: its first place must agree.
        metric, max_drop: for the level "task", see `hotlap.verify.verify`.
        providers: try these alone; None: all that load here.
        copy: copy the model into the folder. A hard link, the default where it is possible, costs no space,
            but changes when the original is overwritten in place; the plan then refuses it.
        reference: the plan points to the model where it lies.
        force: replace a lap folder that exists.
        on_progress: told (seconds spent, what is going on).

    Raises:
        ModelError, InputError, UsageError: the model or the data is no good, or `out` cannot be written.
        TargetFailed: the model does not run at all.
        PlanError, ProviderUnavailable: a provider that was named is unknown, or does not load here.
        StorageError: no room for the result; nothing is left half-written.
        MissingExtra: the graph library is not installed.
    """
    clock = Clock((budget or Budget()).seconds, on_progress)
    folder = None if out is None else Path(out)
    if folder is not None:
        lap.check_destination(folder, force=force)
    level = level_asked(
        level,
        given=data is not None,
        metric=metric is not None,
        max_drop=max_drop is not None,
        otherwise="exact" if data is None else "close",
    )
    clock.say("reading the model")
    source = Model.load(model)
    if folder is not None and reference:
        lap.check_reference(folder, source.files())
    with feeds_of(source, data, rows, clock.patience) as (feeds, feeds_folder):
        search = _Search(source, len(feeds), feeds_folder, data is None, _providers(providers), clock)
        search.heats.first()
        with Reference(
            search.default,
            judged(feeds, search.heats.yardstick[0].p50, clock.seconds),
            generated=data is None,
            scores=scores,
            metric=metric,
            max_drop=max_drop,
            noise_seconds=NOISE * clock.seconds,
            metric_seconds=METRIC * clock.seconds,
        ) as reference_answers:
            search.judge = Judge(reference_answers, level)
            search.race()
            tuning = search.result(budget or Budget(), str(model))
    if folder is None:
        return tuning
    return _write(tuning, source, folder, copy=copy, reference=reference, force=force)


class _Search:
    """One tuning under way."""

    judge: Judge

    def __init__(
        self,
        source: Model,
        feeds: int,
        folder: Path,
        generated: bool,
        providers: Sequence[str],
        clock: Clock,
    ) -> None:
        self.clock = clock
        self.generated = generated
        self.feeds = feeds
        self.feeds_folder = folder
        self.takes_inputs = bool(source.inputs)
        self.home = source.path.absolute().parent
        ref = source.reference(str(source.path.absolute()))
        threads = cpus.usable_threads()
        self.fallback = cpu_default(ref, threads)
        self.default = Target.default(source.path)
        candidates = make_candidates(ref, threads, providers, _reduced(Machine.brief()))
        self.heats = Heats(self.default, candidates, folder, clock, self.home)
        self.refused: dict[str, str] = {}

    def race(self) -> None:
        heats, clock = self.heats, self.clock
        end = clock.start + RACE_ENDS * clock.seconds
        heats.round(end)
        heats.race.drop_the_slow()
        self._judge_all()
        while not heats.race.settled() and clock.start + clock.spent < end:
            heats.round(end)
            heats.race.drop_the_slow()

    def _judge_all(self) -> None:
        """Each pair of provider and arithmetic by itself, before more time goes into it."""
        race = self.heats.race
        for label in sorted(race.running, key=lambda name: -(self.heats.speedup(name) or 0)):
            if label in race.running:
                verdict = self.judge.judge(self.heats.candidates[label], self.heats.targets[label])
                if not verdict.passed:
                    self._refuse_group(self.heats.candidates[label].gate)

    def _refuse_group(self, gate: str) -> None:
        verdict = self.judge.verdicts[gate]
        for label, candidate in self.heats.candidates.items():
            if candidate.gate == gate and label not in self.heats.failed:
                gain = self.heats.speedup(label)
                offer = f"; {label} would be {gain:.2f} times as fast" if gain and gain > 1.01 else ""
                unlock = f"; {verdict.unlock}" if verdict.unlock else ""
                self.refused[label] = verdict.reason + offer + unlock
                self.heats.race.remove(label, self.refused[label])

    def _order(self) -> list[str]:
        """Who may win, best first: of those the noise cannot tell apart, the one that burns least CPU."""
        heats, race = self.heats, self.heats.race
        level = sorted(race.level_with_leader(), key=lambda label: heats.cpu_ratio(label) or 1.0)
        rest = [r for r in race.running if r not in level and heats.results[r]]
        return level + sorted(rest, key=lambda label: -(heats.speedup(label) or 0))

    def result(self, budget: Budget, source: str) -> Tuning:
        """The final comparison of the best against the default, and all that was found."""
        chosen, comparison = self._final()
        won = comparison is not None and _wins(comparison)
        candidate = chosen if won and chosen else self.fallback
        verdict = self.judge.verdicts.get(candidate.gate)
        said = say(candidate, chosen, comparison, won, next(iter(self.refused.values()), None))
        plan = candidate.plan
        if won and comparison is not None:
            plan = msgspec.structs.replace(plan, evidence=evidence(comparison, verdict))
        return Tuning(
            source=source,
            plan=plan,
            chosen=candidate.label,
            won=won,
            said=said,
            trials=self._trials(candidate.label),
            baseline=tuple(self.heats.yardstick),
            comparison=comparison,
            verdict=verdict,
            machine=Machine.brief().table(),
            generated=self.generated,
            feeds=self.feeds,
            not_tried=_not_tried(),
            seconds=self.clock.spent,
            budget=budget,
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _final(self) -> tuple[Candidate | None, Comparison | None]:
        for label in self._order():
            candidate = self.heats.candidates[label]
            self.clock.say(f"final: the default against {label}")
            workload = Workload(seconds=0.8, warmup=0.2, processes=MOST_PROCESSES)
            try:
                return candidate, compare(
                    self.default,
                    self.heats.targets[label],
                    workload,
                    self.feeds_folder if self.takes_inputs else [{}],
                    until=self.clock.end - RESERVE,
                )
            except TargetFailed as error:
                self.heats.failed[label] = str(error)
                self.heats.race.remove(label, str(error))
        return None, None

    def _trials(self, chosen: str) -> tuple[Trial, ...]:
        heats = self.heats
        trials = [self._trial(label, candidate, chosen) for label, candidate in heats.candidates.items()]
        return tuple(sorted(trials, key=lambda t: (t.status != "chosen", -(t.speedup or 0.0))))

    def _trial(self, label: str, candidate: Candidate, chosen: str) -> Trial:
        heats = self.heats
        status, reason = self._fate(label, chosen)
        return Trial(
            label=label,
            plan=candidate.plan,
            status=status,
            reason=reason,
            speedup=heats.speedup(label),
            speedup_p95=heats.speedup(label, 95),
            cpu_ratio=heats.cpu_ratio(label),
            processes=tuple(heats.results[label]),
            verdict=self.judge.verdicts.get(candidate.gate),
        )

    def _fate(self, label: str, chosen: str) -> tuple[Status, str]:
        if label in self.heats.failed:
            return "failed", self.heats.failed[label]
        if label in self.refused:
            return "refused", self.refused[label]
        if label == chosen:
            return "chosen", "the plan"
        if not self.heats.results[label]:
            return "not reached", "no time was left; give --time more"
        if label in self.heats.race.dropped:
            return "dropped", self.heats.race.dropped[label]
        return "kept", "raced to the end"


def _wins(found: Comparison) -> bool:
    """Faster beyond the noise at p50, not slower at p95, and not disturbed."""
    return found.verdict == "faster" and found.tail.verdict != "slower" and not found.void


def _providers(asked: Sequence[str] | None) -> Sequence[str]:
    """Short names of the providers to try, each of which loads."""
    if asked is None:
        return usable_providers()
    names = list(dict.fromkeys(provider_named(name).name for name in asked))
    for status in map(provider_status, names):
        if not status.loads:
            raise ProviderUnavailable(status.label)
    return names


def _not_tried() -> tuple[str, ...]:
    """Providers that are installed but do not load on this machine."""
    found = map(provider_status, PROVIDERS)
    return tuple(f"{s.name}: {s.reason}" for s in found if s.compiled and not s.loads)


def _reduced(machine: Machine) -> tuple[str, ...]:
    """Reduced precisions that this machine has arithmetic for; elsewhere they are emulated and slow."""
    return ("bf16",) if {"AMX-BF16", "AVX512-BF16", "BF16"} & set(machine.cpu.instruction_sets or ()) else ()


def _write(tuning: Tuning, source: Model, out: Path, *, copy: bool, reference: bool, force: bool) -> Tuning:
    """The folder, whole or not at all; the plan's model path starts from it."""
    with lap.new_folder(out, force=force) as building:
        path = str(source.path.absolute())
        if not reference:
            path = source.save(building, link=not copy).name
        assert tuning.plan.model is not None
        plan = msgspec.structs.replace(
            tuning.plan, model=msgspec.structs.replace(tuning.plan.model, path=path)
        )
        tuning = msgspec.structs.replace(tuning, plan=plan, folder=str(out))
        plan.save(building / lap.PLAN)
        tuning.save(building / lap.TUNING)
    return tuning

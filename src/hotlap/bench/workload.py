"""What is measured and how: `Target` (a model or a plan) and `Workload` (how long, how often)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from hotlap.errors import UsageError
from hotlap.plan import Plan

__all__ = ["Target", "Workload", "target_of"]

LONGEST = 3600.0
"""Seconds; of one process. More is a slip of the keyboard, and the system's own timers end somewhere."""
MOST_PROCESSES = 1000


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """One caller that calls again as soon as the answer is there (a closed loop).

    Attributes:
        seconds: how long each process measures.
        warmup: seconds that each process warms up, not measured; two calls at least.
        processes: fresh processes a side.
        seed: of the generated inputs and of the resampling.
        timeout: seconds that a process may take beyond its warm-up and its measuring before it counts as
            hung. Loading a large model is part of it.

    Raises:
        UsageError: a value that makes no sense.
    """

    seconds: float = 0.8
    warmup: float = 0.2
    processes: int = 12
    seed: int = 0
    timeout: float = 120.0

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= LONGEST:
            raise UsageError(f"seconds must be more than 0 and at most {LONGEST:g}, got {self.seconds:g}")
        if not 0 <= self.warmup <= LONGEST:
            raise UsageError(f"warmup must be 0 to {LONGEST:g} seconds, got {self.warmup:g}")
        if not 1 <= self.processes <= MOST_PROCESSES:
            raise UsageError(f"processes must be 1 to {MOST_PROCESSES}, got {self.processes}")
        if self.seed < 0:
            raise UsageError(f"seed must be 0 or more, got {self.seed}")
        if not 0 < self.timeout <= 24 * LONGEST:
            raise UsageError(
                f"timeout must be more than 0 and at most {24 * LONGEST:g} seconds, got {self.timeout:g}"
            )

    @property
    def allowance(self) -> float:
        """Seconds after which a process counts as hung."""
        return self.timeout + 2 * (self.warmup + self.seconds)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Something that answers requests, opened anew in each measuring process.

    Attributes:
        label: what tables call it.
        kind: ``"default"``: ``onnxruntime.InferenceSession(model)`` with no options at all, which is what
            most people run; ``"plan"``: ``hotlap.open`` of a plan, its input check included.
        model: absolute path of the .onnx file.
        plan: the plan's TOML text, for ``"plan"``.
        plan_dir: absolute folder that the plan's relative model path starts from, for ``"plan"``.
        handicap: for tests of the method alone: the caller busy-waits this share of each call's own time
            after the call, inside the timed span. 0.1 plants a slowdown of 10 %.
    """

    label: str
    kind: Literal["default", "plan"]
    model: str
    plan: str | None = None
    plan_dir: str | None = None
    handicap: float = 0.0

    @classmethod
    def default(cls, model: str | Path, *, label: str = "default", handicap: float = 0.0) -> Target:
        """The model as ``onnxruntime.InferenceSession(path)`` runs it."""
        return cls(label=label, kind="default", model=str(Path(model).absolute()), handicap=handicap)

    @classmethod
    def planned(
        cls, plan: Plan | str | Path, *, folder: str | Path | None = None, label: str = "plan"
    ) -> Target:
        """A plan: a ``.toml`` file, a ``.lap`` folder, or a `Plan` and the folder its model path starts in.

        Raises:
            PlanError: no such plan, a broken one, or one that names no model.
        """
        if not isinstance(plan, Plan):
            file = Path(plan)
            file = (file / "plan.toml" if file.is_dir() else file).absolute()
            plan, folder = Plan.load(file), file.parent
        home = Path(folder or ".").absolute()
        if plan.model is None:
            raise UsageError("the plan names no model, so there is nothing to measure")
        return cls(
            label=label,
            kind="plan",
            model=str(home / plan.model.path),
            plan=plan.dumps(),
            plan_dir=str(home),
        )


def target_of(path: str | Path, *, label: str | None = None) -> Target:
    """What a path means: a ``.lap`` folder or a ``.toml`` file is a plan, anything else a bare model."""
    file = Path(path)
    if file.suffix == ".toml" or (file / "plan.toml").is_file() or file.suffix == ".lap":
        return Target.planned(file, label=label or file.name)
    return Target.default(file, label=label or file.name)

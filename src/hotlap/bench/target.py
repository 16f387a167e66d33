"""What is measured: `Target`, a model, a plan, or a Python callable."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

from hotlap.errors import UsageError
from hotlap.plan import Plan

__all__ = ["Target", "names_callable", "target_of"]

_CALLABLE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Something that answers requests, opened anew in each measuring process.

    Attributes:
        label: what tables call it.
        kind: ``"default"``: ``onnxruntime.InferenceSession(model)`` with no options at all, which is what
            most people run; ``"plan"``: ``hotlap.open`` of a plan, its input check included; ``"callable"``:
            a Python function, see `hotlap.bench.calling`.
        model: absolute path of the .onnx file; empty for a callable.
        plan: the plan's TOML text, for ``"plan"``.
        plan_dir: absolute folder that the plan's relative model path starts from, for ``"plan"``.
        function: ``"module:name"``, for ``"callable"``.
        folder: absolute folder that its module is looked for in first, for ``"callable"``.
        handicap: for tests of the method alone: the caller busy-waits this share of each call's own time
            after the call, inside the timed span. 0.1 plants a slowdown of 10 %.
    """

    label: str
    kind: Literal["default", "plan", "callable"]
    model: str
    plan: str | None = None
    plan_dir: str | None = None
    function: str | None = None
    folder: str | None = None
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

    @classmethod
    def calling(
        cls, function: str, *, folder: str | Path = ".", label: str | None = None, handicap: float = 0.0
    ) -> Target:
        """A Python callable, ``"module:name"``: its module is imported in the measuring process alone.

        Args:
            function: where it is; what it may be is told in `hotlap.bench.calling`.
            folder: where its module is looked for first, before what is installed.
            label: what tables call it; None: as `function`.
            handicap: as the attribute.

        Raises:
            UsageError: not of the form ``module:name``.
        """
        if not _CALLABLE.fullmatch(function):
            raise UsageError(f'"{function}" names no callable: write module:name, e.g. my_net:predict')
        home = str(Path(folder).absolute())
        return cls(
            label=label or function,
            kind="callable",
            model="",
            function=function,
            folder=home,
            handicap=handicap,
        )


def names_callable(text: str | Path) -> bool:
    """Whether it is ``module:name``, and no file of that name is there."""
    return _CALLABLE.fullmatch(str(text)) is not None and not Path(text).exists()


def target_of(path: str | Path, *, label: str | None = None) -> Target:
    """What a path means: a ``.lap`` folder or a ``.toml`` file is a plan, anything else a bare model.

    ``module:name`` is a Python callable, unless a file of that name is there.
    """
    file = Path(path)
    if names_callable(path):
        return Target.calling(str(path), label=label)
    if file.suffix == ".toml" or (file / "plan.toml").is_file() or file.suffix == ".lap":
        return Target.planned(file, label=label or file.name)
    return Target.default(file, label=label or file.name)

"""How a runner was opened, so that it can be opened again: in another process, or after a fork."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hotlap.plan import Plan
from hotlap.runtime.digest import DigestCheck
from hotlap.runtime.session import Loaded, build

__all__ = ["OnFork", "Recipe"]

OnFork = Literal["raise", "rebuild"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that opening needs.

    Attributes:
        plan: with the arguments of `open` laid over it.
        model: the model file.
        folder: what relative paths in the plan are relative to.
        allowed: shared libraries that the plan may load, as it spells them.
        on_fork: what a call in a forked child does: "raise" an error, or "rebuild" the session there.
        debug: released buffers are overwritten.
        workers, waiting: calls of `arun` that run at a time, and that may wait for their turn; `workers`
            None: as many as there are CPUs for sessions of this many threads.
    """

    plan: Plan
    model: Path
    folder: Path
    allowed: tuple[str, ...] = ()
    on_fork: OnFork = "raise"
    debug: bool = False
    workers: int | None = None
    waiting: int = 256

    def anywhere(self) -> Recipe:
        """The same with absolute paths: good after a change of the working folder, and in other processes."""
        return replace(self, model=self.model.absolute(), folder=self.folder.absolute())

    def load(self) -> Loaded:
        """Builds the session; the model is hashed meanwhile where the plan knows its digest.

        Raises:
            ModelError, PlanError, ProviderUnavailable: as `open`.
        """
        digest = None if self.plan.model is None else DigestCheck(self.plan.model, self.model)
        try:
            return build(self.model, self.plan, self.folder, self.allowed)
        finally:
            # Another model than the plan's explains every other error, so its message wins.
            if digest is not None:
                digest.verdict()

"""How a model is served: the table [serve] of a plan."""

from __future__ import annotations

import math
import re

import msgspec

from hotlap.errors import PlanError
from hotlap.plan.options import named

__all__ = ["Serve"]

_MOST_LANES = 1024
_MOST_ROWS = 65536
_MOST_LEVELS = 16
_SPIN = re.compile(r"off|on|[1-9]\d{0,5}us|1000000us", re.ASCII)


class Serve(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a model is served. What is None is decided when the server starts, and logged.

    Attributes:
        lanes: threads that run calls at the same time; None: from the CPUs and the plan's threads.
        max_batch: rows that requests may share a call with; 1: they never share one.
        inline: run short calls on the event loop; None: where the model is shorter than the hop to a thread.
        spin: as the plan's own; None: "off" where lanes or models share the cores, else the plan's own.
        queue_requests, queue_bytes: requests that may wait, and bytes of their inputs.
        priorities: levels that requests may ask for, 1 the highest; 1: all are equal.
        timeout: seconds that a request may wait and run where it does not say; None: for ever.

    Raises:
        PlanError: a number or a text that cannot be.
    """

    lanes: int | None = None
    max_batch: int = 32
    inline: bool | None = None
    spin: str | None = None
    queue_requests: int = 512
    queue_bytes: int = 256 << 20
    priorities: int = 1
    timeout: float | None = None

    def __post_init__(self) -> None:
        for field, most in (
            ("lanes", _MOST_LANES),
            ("max_batch", _MOST_ROWS),
            ("queue_requests", 2**31),
            ("queue_bytes", 2**63),
            ("priorities", _MOST_LEVELS),
        ):
            number = getattr(self, field)
            if number is not None and not 1 <= number <= most:
                raise PlanError(
                    f"serve.{field}: expected a whole number from 1 to {most}, got {named(number)}"
                )
        if self.timeout is not None and not (math.isfinite(self.timeout) and self.timeout > 0):
            raise PlanError(f"serve.timeout: expected seconds above 0, got {named(self.timeout)}")
        if self.spin is not None and not _SPIN.fullmatch(self.spin):
            raise PlanError(
                'serve.spin: expected "off", "on", or a time such as "100us" (1us to 1000000us), '
                f"got {named(self.spin)}"
            )

    @property
    def default_level(self) -> int:
        """The level of requests that ask for none, from 1: the middle one, the higher of two."""
        return (self.priorities + 1) // 2

"""Every error that hotlap raises, in one tree, split by who must act.

    HotlapError
    ├── ModelError            mend the model file
    ├── PlanError             mend the plan: names the key and the nearest right one
    ├── InputError            mend the feed: every problem of it in one message
    │   └── TooLarge              send less: more bytes or elements than are taken
    ├── UsageError            mend the call: an argument that makes no sense
    ├── Unavailable           install something on this machine
    │   ├── ProviderUnavailable   an execution provider does not load or does not take the model
    │   └── MissingExtra          a part of hotlap is not installed: the message is the pip line
    ├── StorageError          make room or give permission: nothing was left half-written
    ├── TargetFailed          a measured process crashed, hung or refused the model
    ├── Overloaded            try again later
    ├── NotReady              try again later, or ask another server
    │   └── Draining              the server is about to stop: ask another one
    ├── DeadlineExceeded      try again later, or allow more time
    ├── Cancelled             nothing: the caller itself took the call back
    └── VerificationFailed    a gate said no

An error's text is one clear line (InputError: one line per problem): what, where, what to do.
"""

from __future__ import annotations

__all__ = [
    "Cancelled",
    "DeadlineExceeded",
    "Draining",
    "HotlapError",
    "InputError",
    "MissingExtra",
    "ModelError",
    "NotReady",
    "Overloaded",
    "PlanError",
    "ProviderUnavailable",
    "StorageError",
    "TargetFailed",
    "TooLarge",
    "Unavailable",
    "UsageError",
    "VerificationFailed",
]


class HotlapError(Exception):
    """The root: `except hotlap.HotlapError` catches all that hotlap raises on purpose."""


class ModelError(HotlapError):
    """The model file is missing, broken, or not what it claims to be."""


class PlanError(HotlapError):
    """The plan says something that is unknown, impossible, or meant for another model."""


class InputError(HotlapError):
    """The feed does not fit the model's inputs. `problems` holds one line for each thing wrong."""

    def __init__(self, problems: str | list[str]) -> None:
        self.problems: list[str] = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class TooLarge(InputError):
    """A request has, or would become, more than the limit; nothing was made of it."""


class UsageError(HotlapError):
    """An argument makes no sense; the message names it and what would."""


class Unavailable(HotlapError):
    """Something that was asked for is not on this machine."""


class ProviderUnavailable(Unavailable):
    """An execution provider that was asked for does not load, or does not take the model's nodes."""


class MissingExtra(Unavailable):
    """A part of hotlap that is installed apart. The message is the pip line that brings it.

    Args:
        extra: the name in brackets, e.g. ``"cpu"``.
        need: what wanted it, e.g. ``"running a model"``.
    """

    def __init__(self, extra: str, need: str) -> None:
        self.extra = extra
        super().__init__(f"{need} needs an extra: pip install 'hotlap[{extra}]'")

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return type(self), (self.extra, str(self).rpartition(" needs an extra")[0])


class StorageError(HotlapError):
    """A file could not be written whole (disk full, no permission); nothing half-written is left."""


class TargetFailed(HotlapError):
    """A target crashed, hung, or refused the model while it was measured or verified."""


class Overloaded(HotlapError):
    """The queue is full."""


class NotReady(HotlapError):
    """A server, or a model of it, has not been warmed yet."""


class Draining(NotReady):
    """A server is about to stop: what it accepted it finishes, new requests it refuses."""


class DeadlineExceeded(HotlapError):
    """The deadline passed before the answer was there."""


class Cancelled(HotlapError):
    """The caller took the call back while it ran or waited."""


class VerificationFailed(HotlapError):
    """A gate said no: the answers differ by more than was allowed."""

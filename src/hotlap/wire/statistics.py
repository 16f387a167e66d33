"""The JSON of the statistics extension: `statistics`. Every field is always there: clients read unchecked."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

__all__ = ["BatchStats", "Duration", "InferenceStats", "ModelStats", "statistics"]


class Duration(msgspec.Struct, frozen=True):
    """How often something happened, and how long it took in all.

    Attributes:
        count: of times.
        ns: nanoseconds, the sum.
    """

    count: int = 0
    ns: int = 0


class InferenceStats(msgspec.Struct, frozen=True, kw_only=True):
    """Of requests. `cache_hit` and `cache_miss` stay 0: there is no cache."""

    success: Duration = Duration()
    fail: Duration = Duration()
    queue: Duration = Duration()
    compute_input: Duration = Duration()
    compute_infer: Duration = Duration()
    compute_output: Duration = Duration()
    cache_hit: Duration = Duration()
    cache_miss: Duration = Duration()


class BatchStats(msgspec.Struct, frozen=True, kw_only=True):
    """Of calls of the model that had so many rows."""

    batch_size: int
    compute_input: Duration = Duration()
    compute_infer: Duration = Duration()
    compute_output: Duration = Duration()


class ModelStats(msgspec.Struct, frozen=True, kw_only=True):
    """Of one model since the start.

    Attributes:
        last_inference: milliseconds since 1970; 0: none yet.
        inference_count: rows that were answered.
        execution_count: calls of the model.
    """

    name: str
    version: str
    last_inference: int = 0
    inference_count: int = 0
    execution_count: int = 0
    inference_stats: InferenceStats = InferenceStats()
    response_stats: dict[str, Duration] = {}
    batch_stats: tuple[BatchStats, ...] = ()
    memory_usage: tuple[int, ...] = ()


def statistics(models: Iterable[ModelStats]) -> bytes:
    """The answer to ``GET /v2/models/stats`` and to that of one model."""
    return msgspec.json.encode({"model_stats": list(models)})

"""ORT's own CPU provider. It takes every operator, and has no options of its own."""

from __future__ import annotations

from typing import ClassVar

from hotlap.providers.provider import Provider

__all__ = ["Cpu"]


class Cpu(Provider, frozen=True):
    """The plan's `threads` and `spin` set its behaviour. ORT ignores provider options given to it."""

    name: ClassVar[str] = "cpu"
    ort_name: ClassVar[str] = "CPUExecutionProvider"
    extra_name: ClassVar[str] = "cpu"
    install: ClassVar[str] = "pip install 'hotlap[cpu]'"
    instead: ClassVar[dict[str, str]] = {
        "use_arena": "enable_cpu_mem_arena under [session]",
        "arena_extend_strategy": "enable_cpu_mem_arena under [session]",
        "intra_op_num_threads": "threads, at the top of the plan",
        "num_threads": "threads, at the top of the plan",
    }

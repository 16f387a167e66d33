"""What each field of a plan allows by itself, and what together would do nothing, or fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotlap.errors import PlanError
from hotlap.plan.options import Value
from hotlap.plan.run_options import RUN_OPTIONS
from hotlap.plan.session_options import SESSION_OPTIONS
from hotlap.plan.words import dotted

__all__ = ["check_together"]


def check_together(
    providers: tuple[str, ...],
    threads: int | None,
    spin: str,
    provider: Mapping[str, Any],
    session: Mapping[str, Value],
    run: Mapping[str, Value],
) -> None:
    """Refuse what each field allows by itself and what would together do nothing, or fail.

    Raises:
        PlanError: names both keys.
    """
    for name in provider:
        if name not in providers:
            raise PlanError(
                f'{dotted("provider", name)}: "{name}" is not in providers ({", ".join(providers)})'
            )
    for table, given, known in (("session", session, SESSION_OPTIONS), ("run", run, RUN_OPTIONS)):
        for key in given:
            needs = known[key].needs
            if needs and not set(needs) & set(providers):
                raise PlanError(
                    f"{dotted(table, key)}: does nothing without {' or '.join(needs)} in providers"
                )
    _check_pools(session, spin)
    _check_affinities(session, threads)
    if session.get("session.disable_cpu_ep_fallback") is True and "cpu" in providers:
        raise PlanError(
            f'{dotted("session", "session.disable_cpu_ep_fallback")}: contradicts "cpu" in providers'
        )


def _check_pools(session: Mapping[str, Value], spin: str) -> None:
    parallel = session.get("execution_mode") == "ORT_PARALLEL"
    for key in session:
        if (key == "inter_op_num_threads" or key.startswith("session.inter_op.")) and not parallel:
            raise PlanError(f'{dotted("session", key)}: does nothing without execution_mode = "ORT_PARALLEL"')
        if spin == "off" and key in ("session.force_spinning_stop", "session.intra_op.spin_backoff_max"):
            raise PlanError(f'{dotted("session", key)}: does nothing with spin = "off"')


def _check_affinities(session: Mapping[str, Value], threads: int | None) -> None:
    key = "session.intra_op_thread_affinities"
    if key not in session:
        return
    groups = str(session[key]).count(";") + 1
    if threads is None or groups != threads - 1:
        raise PlanError(
            f"{dotted('session', key)}: places {groups} threads, so threads must be {groups + 1}"
            f" (the calling thread is not placed), and is {'not given' if threads is None else threads}"
        )

"""How often a feed cost a copy that it need not have cost."""

from __future__ import annotations

import threading

__all__ = ["Copies"]


class Copies:
    """Counts, by input and reason. Any number of threads may count."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler or a finalizer may come while it is held
        self._counts: dict[str, dict[str, int]] = {}

    def count(self, name: str, reason: str) -> None:
        """One more copy of the input `name`."""
        with self._lock:
            reasons = self._counts.setdefault(name, {})
            reasons[reason] = reasons.get(reason, 0) + 1

    def seen(self) -> dict[str, dict[str, int]]:
        """Input name to reason to count; the caller's own."""
        with self._lock:
            return {name: dict(reasons) for name, reasons in self._counts.items()}

"""What is wrong with a model, told before production does."""

from __future__ import annotations

from hotlap.inspect.finding import Finding, Rule

__all__ = ["Finding", "Rule"]

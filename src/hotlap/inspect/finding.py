"""What is wrong with a model, in one value: `Finding`; and what a rule says of itself: `Rule`."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["SEVERITIES", "THEMES", "Finding", "Rule", "Severity"]

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")
"""From the mildest on. error: wrong answers or a crash are possible. warning: slow or fragile. info: good to
know."""

THEMES: dict[str, str] = {
    "HL1": "rows and shapes",
    "HL2": "numbers",
    "HL3": "file and runtime",
    "HL4": "interface and graph",
    "HL5": "providers and fusions",
}


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's own page in a few words.

    Attributes:
        code: ``"HL101"``; its first three characters are a key of `THEMES`. A code is never used again.
        name: the page's file name: ``"dynamic-in-name-only"``.
        title: what it finds, as a sentence without the dot.
        severity: of its findings, unless one says otherwise.
        needs: what must have been done to know: ``"graph"`` the file alone, ``"run"`` ORT ran or loaded it.
    """

    code: str
    name: str
    title: str
    severity: Severity
    needs: Literal["graph", "run"] = "graph"

    @property
    def theme(self) -> str:
        return THEMES[self.code[:3]]

    @property
    def mend(self) -> str:
        """The command that mends what it finds, where a pass of ``hotlap optimize`` does."""
        return self.mend_with("")

    def mend_with(self, argument: str) -> str:
        """The same, with an argument for the pass; "": its own default."""
        code = f"{self.code}:{argument}" if argument else self.code
        return f"hotlap optimize MODEL --fix {code} -o OUT.onnx"

    def found(
        self,
        message: str,
        *,
        severity: Severity | None = None,
        node: str = "",
        tensor: str = "",
        cost: str = "",
        fix: str = "",
    ) -> Finding:
        """A finding of this rule, as severe as the rule unless said otherwise."""
        return Finding(
            code=self.code,
            severity=severity or self.severity,
            message=message,
            node=node,
            tensor=tensor,
            cost=cost,
            fix=fix,
        )


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finding about one model.

    Attributes:
        code: of the rule.
        severity: how bad this very finding is.
        message: what is wrong, one sentence; names, numbers, units.
        node: the node to blame, as `hotlap.model.walk.Node.label` tells it; "" where none is.
        tensor: the input, output, weight or value to blame; "" where none is.
        cost: what it costs, counted or measured, with its unit; "" where that is not known.
        fix: the command that mends it, or what to do, one sentence; "" where nothing is to be done.
    """

    code: str
    severity: Severity
    message: str
    node: str = ""
    tensor: str = ""
    cost: str = ""
    fix: str = ""

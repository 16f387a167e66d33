"""Findings as annotations of a GitHub workflow: ``::error title=HL101 …::message``.

Source: "Workflow commands for GitHub Actions", and the escaping of its toolkit (actions/toolkit, command.ts).
"""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.finding import Finding
from hotlap.inspect.inspection import Inspection
from hotlap.inspect.rules import RULES
from hotlap.inspect.telling import page

__all__ = ["failure_command", "workflow_commands"]

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def workflow_commands(found: Inspection) -> Iterator[str]:
    """One line for each finding."""
    for finding in found.findings:
        title = f"{finding.code} {RULES[finding.code].title}" if finding.code in RULES else finding.code
        properties = f"file={_property(found.anatomy.path)},title={_property(title)}"
        yield f"::{_LEVELS[finding.severity]} {properties}::{_data(_text(finding))}"


def failure_command(path: str, why: str) -> str:
    """One line for a model that could not be inspected."""
    return f"::error file={_property(path)},title=hotlap inspect::{_data(why)}"


def _text(finding: Finding) -> str:
    blamed = [finding.node, finding.tensor and f'"{finding.tensor}"', finding.cost, finding.fix]
    blamed.append(f"docs: {page(finding.code)}")
    return "\n".join([finding.message, *filter(None, blamed)])


def _data(text: str) -> str:
    # Names come from the model, and whoever reads the log may do so on a terminal.
    text = "".join(c if c.isprintable() or c in "\r\n" else ascii(c)[1:-1] for c in text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

"""Findings as SARIF 2.1.0, which code scanning services read.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.inspection import Inspection
from hotlap.inspect.rules import RULES
from hotlap.inspect.telling import home, page
from hotlap.machine.versions import versions

__all__ = ["sarif", "sarif_of_failure"]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(found: Inspection) -> dict[str, Any]:
    """A SARIF log of one run, as values for JSON."""
    codes = sorted({f.code for f in found.findings})
    return _log(
        [_rule(RULES[code]) for code in codes],
        artifacts=[_artifact(found)],
        results=[_result(f, codes.index(f.code), found) for f in found.findings],
    )


def sarif_of_failure(path: str, why: str) -> dict[str, Any]:
    """A SARIF log of a run that could not inspect the model.

    Args:
        path: of the model.
        why: one line.
    """
    notification = {"level": "error", "message": {"text": _sentences(why)}, "locations": [_place(path)]}
    ended = {"executionSuccessful": False, "toolExecutionNotifications": [notification]}
    return _log([], invocations=[ended], results=[])


def _log(rules: list[dict[str, Any]], **run: Any) -> dict[str, Any]:
    driver = {"name": "hotlap", "version": versions().get("hotlap", "unknown"), "rules": rules}
    runs = [{"tool": {"driver": driver}, **run}]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _rule(rule: Rule) -> dict[str, Any]:
    where = page(rule.code)
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "help": {"text": f"See {where}."},
        **({"helpUri": where} if home() else {}),
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.theme]},
    }


def _artifact(found: Inspection) -> dict[str, Any]:
    digest = found.anatomy.digest.removeprefix("sha256:")
    return {"location": {"uri": _uri(found.anatomy.path)}, "hashes": {"sha-256": digest}}


def _uri(path: str) -> str:
    """Relative where it is below the working folder, as services expect of a file in a repository."""
    full = Path(path).parent.resolve() / Path(path).name
    if full.is_relative_to(Path.cwd()):
        return quote(full.relative_to(Path.cwd()).as_posix())
    return full.as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())


def _place(path: str) -> dict[str, Any]:
    # An ONNX file has no lines, but GitHub shows nothing without one.
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": {"startLine": 1}}}


def _result(finding: Finding, index: int, found: Inspection) -> dict[str, Any]:
    location = _place(found.anatomy.path)
    location["physicalLocation"]["artifactLocation"]["index"] = 0
    if places := _places(finding):
        location["logicalLocations"] = places
    more = {"cost": finding.cost, "fix": finding.fix}
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": _sentences(finding.message, finding.fix)},
        "locations": [location],
        "properties": {name: text for name, text in more.items() if text},
    }


def _sentences(*parts: str) -> str:
    """Each with a full stop; a command is none, and is not joined to one."""
    return " ".join(
        f"{p.rstrip('.')}." if not p.startswith("hotlap ") else f"Mend it by: {p}" for p in parts if p
    )


def _places(finding: Finding) -> list[dict[str, str]]:
    places = {"function": finding.node, "variable": finding.tensor}
    return [{"fullyQualifiedName": name, "kind": kind} for kind, name in places.items() if name]

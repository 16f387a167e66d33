"""Findings as SARIF 2.1.0, which code scanning services read.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hotlap.inspect.finding import Finding, Rule
from hotlap.inspect.inspection import Inspection
from hotlap.inspect.rules import RULES
from hotlap.machine.versions import versions

__all__ = ["sarif"]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_PAGES = "docs/reference/findings"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(found: Inspection) -> dict[str, Any]:
    """A SARIF log of one run, as values for JSON."""
    codes = sorted({f.code for f in found.findings})
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "hotlap",
                        "version": versions().get("hotlap", "unknown"),
                        "rules": [_rule(RULES[code]) for code in codes],
                    }
                },
                "artifacts": [_artifact(found)],
                "results": [_result(f, codes.index(f.code), found) for f in found.findings],
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    page = f"{_PAGES}/{rule.code}.md"
    home = _home()
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "help": {"text": f"See {page}."},
        **({"helpUri": f"{home}/{page}"} if home else {}),
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.theme]},
    }


def _home() -> str:
    """Where the repository is to be read, as the installed package says; "" where it does not."""
    try:
        links = metadata.metadata("hotlap").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    named: dict[str, str] = dict(str(link).partition(", ")[::2] for link in links)
    return named.get("Documentation", "").rstrip("/")


def _artifact(found: Inspection) -> dict[str, Any]:
    digest = found.anatomy.digest.removeprefix("sha256:")
    return {"location": {"uri": _uri(found)}, "hashes": {"sha-256": digest}}


def _uri(found: Inspection) -> str:
    return quote(Path(found.anatomy.path).as_posix())


def _result(finding: Finding, index: int, found: Inspection) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": _uri(found), "index": 0}}}
    if places := _places(finding):
        location["logicalLocations"] = places
    more = {"cost": finding.cost, "fix": finding.fix}
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": " ".join(filter(None, (finding.message, finding.fix)))},
        "locations": [location],
        "properties": {name: text for name, text in more.items() if text},
    }


def _places(finding: Finding) -> list[dict[str, str]]:
    places = {"function": finding.node, "variable": finding.tensor}
    return [{"fullyQualifiedName": name, "kind": kind} for kind, name in places.items() if name]

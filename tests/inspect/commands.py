"""The commands that findings name: each is one that there is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hotlap.inspect import Finding
from hotlap.passes import fix_for

__all__ = ["COMMAND", "mended_by"]

COMMAND = re.compile(r"hotlap optimize MODEL (--fix|--pass) (\S+) -o OUT\.onnx")


def mended_by(findings: Iterable[Finding]) -> set[str]:
    """The codes that ``--fix`` is named with, without arguments; fails on a command that is none."""
    codes = set()
    for finding in findings:
        if "hotlap optimize" in finding.fix:
            match = COMMAND.fullmatch(finding.fix)
            assert match, finding.fix
            if match[1] == "--fix":
                assert fix_for(match[2])
                codes.add(match[2].partition(":")[0])
    return codes

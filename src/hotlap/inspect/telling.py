"""What a finding is told with besides itself: the command for the very file, and where the rule's page is."""

from __future__ import annotations

import re
import shlex
from importlib import metadata
from pathlib import Path

import msgspec

from hotlap.inspect.inspection import Inspection

__all__ = ["home", "page", "with_paths"]

_COMMAND = re.compile(r"hotlap optimize MODEL (--fix|--pass) (\S+) -o OUT\.onnx")
_PAGES = "docs/reference/findings"


def with_paths(found: Inspection) -> Inspection:
    """The inspection with commands that can be pasted: MODEL and OUT.onnx are named.

    The new file lies beside the model and is called by what it is mended of: ``model.HL101.onnx``.
    """
    path = Path(found.anatomy.path)

    def named(command: re.Match[str]) -> str:
        how, what = command.groups()
        out = path.with_name(f"{path.stem}.{what.replace(':', '-')}.onnx")
        return f"hotlap optimize {_quoted(path)} {how} {what} -o {_quoted(out)}"

    findings = (msgspec.structs.replace(f, fix=_COMMAND.sub(named, f.fix)) for f in found.findings)
    return msgspec.structs.replace(found, findings=tuple(findings))


def _quoted(path: Path) -> str:
    # A name that begins with a hyphen would be taken for an option.
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def page(code: str) -> str:
    """Where a rule's page is: its address, or without one its path in the repository."""
    path = f"{_PAGES}/{code}.md"
    return f"{home()}/{path}" if home() else path


def home() -> str:
    """Where the repository is to be read, as the installed package says; "" where it does not."""
    try:
        links = metadata.metadata("hotlap").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    named: dict[str, str] = dict(str(link).partition(", ")[::2] for link in links)
    return named.get("Documentation", "").rstrip("/")

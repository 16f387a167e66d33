"""Writes the tables of the documentation that are made from the code.

``python docs/generate.py`` rewrites them; with ``--check`` it only names stale pages and exits with 1.
What stands between ``<!-- generated: NAME -->`` and ``<!-- end -->`` comes from `TABLES[NAME]`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from hotlap.plan import RUN_OPTIONS, SESSION_OPTIONS, Option
from hotlap.plan.refused import PLAN_INSTEAD, RUN_INSTEAD, SESSION_INSTEAD
from hotlap.providers import PROVIDERS
from hotlap.providers.listing import ProviderOption, options_of
from hotlap.serve.http.limits import Limits
from hotlap.serve.status import STATUS
from hotlap.tensors import DTYPES, DType
from hotlap.verify import LEVELS

DOCS = Path(__file__).parent
_BLOCK = re.compile(r"(<!-- generated: ([\w.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; bars inside of cells are escaped."""
    lines = [list(head), ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(c.replace("|", r"\|") for c in line) + " |\n" for line in lines)


def options_table(options: Iterable[Option]) -> str:
    """Session or run options."""
    head = ("option", "values", "default", "since", "numbers", "what it does")
    return table(head, (_option_row(o) for o in options))


def _option_row(o: Option) -> list[str]:
    values = ", ".join(f"`{v}`" for v in o.values) or o.expected
    if o.kind == "path":
        values = "a file beside the plan"
    doc = o.doc + (f" Needs {' or '.join(o.needs)}." if o.needs else "")
    return [f"`{o.name}`", values, o.default, o.since, _changes(o.changes_numbers), doc]


def provider_table(name: str) -> str:
    """Where a provider comes from, and its options."""
    cls = PROVIDERS[name]
    kind = f"a plugin, the module `{cls.plugin}`" if cls.plugin else "compiled into ONNX Runtime"
    start = f"ONNX Runtime's name: `{cls.ort_name}`; {kind}. To get it: {cls.install}.\n\n"
    rows = [_provider_row(o) for o in options_of(cls) if o.name != "extra"]
    if not rows:
        return start + "It has no options.\n"
    return start + table(("option", "values", "default", "since", "numbers", "what it does"), rows)


def _provider_row(o: ProviderOption) -> list[str]:
    values = ", ".join(f"`{v}`" for v in o.values) or o.kind + (
        "" if o.low is None else f" of {o.low} or more"
    )
    values = {"folder": "a folder", "file": "a file beside the plan", "code": "shared libraries"}.get(
        o.holds, values
    )
    return [f"`{o.name}`", values, o.default, o.since, _changes(o.numbers), o.doc]


def _changes(numbers: bool) -> str:
    return "yes" if numbers else ""


def instead_table(instead: dict[str, str]) -> str:
    """What people write, and what to write instead."""
    return table(("not", "but"), ([f"`{k}`", v] for k, v in instead.items()))


def gates_table() -> str:
    """The levels of agreement."""
    return table(
        ("gate", "the answers", "inputs", "for"),
        ([f"`{g.name}`", g.agrees, g.data, g.use] for g in LEVELS.values()),
    )


_IN_JSON = {
    "string": "strings",
    "bool": "`true`, `false`",
    "int": "whole numbers: `1`, not `1.0`",
    "float": "numbers; `NaN`, `Infinity`, `-Infinity`",
}


def protocol_table() -> str:
    """The element types that the Open Inference Protocol has."""
    head = ("datatype", "model's type", "bytes of an element", "in JSON")
    return table(head, (_protocol_row(d) for d in DTYPES if d.protocol is not None))


def _protocol_row(d: DType) -> list[str]:
    kind = "float" if d.is_float else "int" if d.is_integer else d.name
    size = str(d.bits // 8) if d.bits else "4 for the length, then UTF-8"
    return [f"`{d.protocol}`", d.name, size, _IN_JSON[kind]]


def status_table() -> str:
    """What clients are told of errors."""
    rows = sorted(STATUS.values(), key=lambda row: row.status)
    head = ("status", "when", "header Retry-After")
    return table(head, ([f"{r.status}", r.when, "" if r.retry is None else f"{r.retry} s"] for r in rows))


def limits_table() -> str:
    """What a client may ask of a server, as the docstring says it."""
    attributes = re.findall(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", Limits.__doc__ or "", re.MULTILINE)
    rows = (
        [f"`{n}`", f"{getattr(Limits(), n):,.0f}", " ".join(t.split()).rstrip(".")] for n, t in attributes
    )
    return table(("limit", "default", "of what"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "gates": gates_table,
    "protocol-types": protocol_table,
    "status": status_table,
    "limits": limits_table,
    "session-options": lambda: options_table(SESSION_OPTIONS.values()),
    "run-options": lambda: options_table(RUN_OPTIONS.values()),
    "plan-instead": lambda: instead_table(PLAN_INSTEAD),
    "session-instead": lambda: instead_table(SESSION_INSTEAD),
    "run-instead": lambda: instead_table(RUN_INSTEAD),
    **{f"provider-{name}": partial(provider_table, name) for name in PROVIDERS},
}


def current(page: str) -> str:
    """A page's text with each generated block made anew.

    Raises:
        KeyError: it asks for a table that `TABLES` does not have.
    """
    return _BLOCK.sub(lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n{m[3]}", page)


def stale_pages() -> dict[Path, str]:
    """Pages whose generated blocks differ from the code, with their right text."""
    pages = {path: path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md"))}
    return {path: new for path, text in pages.items() if (new := current(text)) != text}


def main(arguments: list[str]) -> int:
    stale = stale_pages()
    for path, text in stale.items():
        print(path.relative_to(DOCS.parent))
        if "--check" not in arguments:
            path.write_text(text, "utf-8")
    return int("--check" in arguments and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

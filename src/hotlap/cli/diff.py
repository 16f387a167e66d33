"""``hotlap diff``: what differs between two models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from hotlap.cli.console import SAID_NO, common_options, print_json, printable, terminal
from hotlap.inspect.diff import diff_files
from hotlap.model.diff import Change, Difference

MOST = 12
"""Lines of a group; the others are counted, and ``--json`` has them all."""


@click.command("diff")
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="B", type=click.Path(path_type=Path))
@click.option("--exit-code", is_flag=True, help="Exit with 1 where they differ.")
@common_options
def command(before: Path, after: Path, exit_code: bool, as_json: bool) -> int:
    """Say what differs between two models.

    Compared are signature, opset, operators, nodes, weights, cost and external files. Nothing is run: whether
    both give the same answers is another question, which ``hotlap tune`` and ``hotlap verify`` put.
    """
    found = diff_files(before, after)
    if as_json:
        print_json(found)
    else:
        _print(terminal(), found)
    return SAID_NO if exit_code and not found.identical else 0


def _print(console: Console, found: Difference) -> None:
    console.print(Text(printable(f"{found.before} → {found.after}"), style="bold"))
    if found.identical:
        console.print("no difference: the same byte for byte")
        return
    if found.nothing:
        console.print("no difference but in how the file is written")
    groups = {
        "Inputs": found.inputs,
        "Outputs": found.outputs,
        "File": found.file,
        "Operators": found.operators,
        "Functions": found.functions,
        "Nodes": found.nodes,
        "Weights": found.weights,
        "Renamed weights": tuple(Change(name=n, before=n, after=m) for n, m in found.renamed.items()),
        "Cost": found.cost,
        "External files": found.external,
    }
    for title, changes in groups.items():
        if changes:
            console.print(f"\n[bold]{title}[/]{_counts(changes) if title == 'Weights' else ''}")
            for line in _lines(changes, title != "Renamed weights"):
                console.print(Text(printable(f"  {line}")))


def _counts(changes: Sequence[Change]) -> str:
    gone, new = sum(c.after is None for c in changes), sum(c.before is None for c in changes)
    return f": {len(changes) - gone - new:,} changed, {new:,} new, {gone:,} gone"


def _lines(changes: Sequence[Change], named: bool) -> Iterator[str]:
    shown = changes[:MOST]
    wide = max(len(c.name) for c in shown) if named else 0
    before = max(len(_text(c.before)) for c in shown)
    for one in shown:
        name = f"{one.name:{wide}}  " if named else ""
        yield f"{name}{_text(one.before):{before}}  →  {_text(one.after)}"
    if len(changes) > MOST:
        yield f"and {len(changes) - MOST:,} more"


def _text(value: str | int | None) -> str:
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) else value or '""'

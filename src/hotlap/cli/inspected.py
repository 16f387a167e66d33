"""How an inspection is shown to people."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hotlap.cli.console import printable, terminal
from hotlap.inspect import SEVERITIES, Finding, Inspection, Severity
from hotlap.inspect.telling import home, page
from hotlap.model.cost import Cost
from hotlap.tensors import TensorSpec

_COLOURS: dict[Severity, str] = {"error": "red", "warning": "yellow", "info": "cyan"}
_MOST_OPERATORS = 6
_MOST_TENSORS = 12


def print_inspection(found: Inspection, notes: Sequence[str] = ()) -> None:
    """The model in a few lines, its findings, what could not be learned, and a line that sums up."""
    console = terminal()
    with console.capture() as captured:
        _print(console, found, notes)
    # The columns are filled up with blanks, which a log would keep.
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _print(console: Console, found: Inspection, notes: Sequence[str]) -> None:
    console.print(_head(found))
    for finding in found.findings:
        _print_finding(console, finding)
    if found.unknown:
        console.print("\n[bold]Not learned[/]")
        for line in found.unknown:
            console.print(Padding(Text(printable(line)), (0, 0, 0, 2), expand=False))
    console.print()
    for note in notes:
        console.print(Text(printable(note)))
    console.print(_summary(found))


def _print_finding(console: Console, finding: Finding) -> None:
    head = Text.assemble(
        "\n",
        (finding.severity, f"bold {_COLOURS[finding.severity]}"),
        " ",
        (finding.code, "bold"),
        " ",
        printable(finding.message),
    )
    console.print(head)
    lines = {
        "node": finding.node,
        "tensor": finding.tensor and f'"{finding.tensor}"',
        "cost": finding.cost,
        "fix": finding.fix,
        "docs": page(finding.code) if home() else "",
    }
    table = _grid()
    for name, value in lines.items():
        if value:
            table.add_row(Text(name, style="dim"), Text(printable(value)))
    if table.row_count:
        console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _grid() -> Table:
    """Two columns without lines; the second takes what is left and wraps."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _head(found: Inspection) -> Table:
    table = _grid()
    for name, value in _facts(found):
        table.add_row(Text(name, style="bold"), Text(printable(value)))
    return table


def _facts(found: Inspection) -> Iterator[tuple[str, str]]:
    model = found.anatomy
    yield "model", f"{Path(model.path).name}, {size(model.size)}, {model.producer or 'producer unknown'}"
    yield from _tensors("inputs", model.inputs)
    yield from _tensors("outputs", model.outputs)
    yield (
        "format",
        f"IR {model.ir_version}, "
        + ", ".join(f"{domain or 'opset'} {version}" for domain, version in sorted(model.opset.items())),
    )
    yield "nodes", f"{model.nodes:,}: {_operators(model.operators)}"
    yield "weights", ", ".join(f"{size(h.nbytes)} {name}" for name, h in model.weights.items()) or "none"
    if model.cost is not None:
        yield "cost", _cost(model.cost)
    judged = found.judged
    ort = f"onnxruntime {judged.onnxruntime}" if judged.onnxruntime else "no onnxruntime"
    yield "judged for", ", ".join(filter(None, (ort, judged.processor, "/".join(judged.providers))))
    yield "run", _run(found)


def _tensors(name: str, specs: Sequence[TensorSpec]) -> Iterator[tuple[str, str]]:
    shown = [f"{s.name} {s.label}" for s in specs[:_MOST_TENSORS]]
    if len(specs) > _MOST_TENSORS:
        shown.append(f"… {len(specs) - _MOST_TENSORS} more")
    for number, line in enumerate(shown or ["none"]):
        yield name if number == 0 else "", line


def _operators(counts: dict[str, int]) -> str:
    shown = [f"{count} {op}" for op, count in list(counts.items())[:_MOST_OPERATORS]]
    more = len(counts) - _MOST_OPERATORS
    return ", ".join(shown) + (f", … {more} other operators" if more > 0 else "")


def _cost(cost: Cost) -> str:
    if cost.macs is None and cost.nbytes is None:
        return f"unknown: {cost.why}"
    counts = {"multiply-adds": cost.macs, "bytes": cost.nbytes}
    return ", ".join(f"{n} {what}" for what, n in counts.items() if n is not None) + " a call"


def _run(found: Inspection) -> str:
    if not found.ran:
        return "no: only the file was read"
    inputs = "your inputs" if found.data == "yours" else "inputs made to fit"
    placed = ", ".join(f"{count} nodes on {name}" for name, count in found.placement.items())
    if not placed:
        return "it does not load"
    if found.facts is None:
        return f"{placed}; nothing ran on {inputs}"
    return f"{placed}; on {inputs}; rows {found.facts.rows}, equal runs {found.facts.repeats}"


def _summary(found: Inspection) -> Text:
    parts: list[tuple[str, str]] = []
    for severity in reversed(SEVERITIES):
        count = found.count(severity)
        word = severity if severity == "info" else severity + "s" * (count != 1)
        parts.append((f"{count} {word}", f"bold {_COLOURS[severity]}" if count else ""))
    ignored = f"; ignored: {', '.join(found.ignored)}" if found.ignored else ""
    return Text.assemble(parts[0], ", ", parts[1], ", ", parts[2], ignored, _docs(found))


def _docs(found: Inspection) -> str:
    """The first code's page, where the findings themselves do not tell an address."""
    codes = list(dict.fromkeys(f.code for f in found.findings))
    if not codes or home():
        return ""
    return f"; docs: {page(codes[0])}{', and so on' if len(codes) > 1 else ''}"


def size(nbytes: int) -> str:
    """``86.7 MB``: three digits, decimal units."""
    value = float(nbytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"

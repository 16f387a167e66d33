"""``hotlap doctor``: what can explain a number on this machine, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hotlap.cli.console import common_options, print_json, terminal
from hotlap.machine import EnvNote, Gpu, Machine, Memory, ProviderReport

MISSING_HERE = 3


@click.command("doctor")
@common_options
def command(as_json: bool) -> int:
    """Say what can explain a number on this machine.

    Exit code 3 where onnxruntime is missing, does not import or is too old, else 0.
    """
    machine = Machine.here()
    if as_json:
        print_json(machine)
    else:
        _print(machine)
    return 0 if machine.onnxruntime is not None and machine.onnxruntime.usable else MISSING_HERE


def _print(machine: Machine) -> None:
    console = terminal()
    console.print(_facts(machine))
    if machine.providers:
        _section(console, "Providers", _providers(machine.providers))
    if machine.environment:
        _section(console, "Environment", _environment(machine.environment))
    if machine.findings:
        _section(console, "Findings", _bullets(machine.findings))
    else:
        console.print("\n[bold]Findings[/]\n  none: all is well")


def _section(console: Console, title: str, body: Table) -> None:
    console.print(f"\n[bold]{title}[/]")
    console.print(Padding(body, (0, 0, 0, 2), expand=False))


def _grid(columns: int) -> Table:
    """Columns without lines; the last one takes what is left and wraps."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(columns - 1):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _facts(machine: Machine) -> Table:
    cpu, cpus = machine.cpu, machine.cpus
    sets = cpu.instruction_sets
    rows = {
        "system": machine.os,
        "inside": cpu.virtual,
        "processor": f"{cpu.model}, {_cores(cpus.physical, cpus.logical)}",
        "features": "unknown" if sets is None else ", ".join(sets) or "none that kernels choose by",
        "clock": _clock(cpu.governor, cpu.driver, cpu.max_mhz),
        "threads": cpus.reason,
        "quota": cpus.quota_source,
        "memory": _memory(machine.memory),
        "GPUs": "\n".join(map(_gpu, machine.gpus)) or "none found",
        "versions": ", ".join(f"{name} {version}" for name, version in machine.versions.items()),
        "ORT": _ort(machine),
    }
    table = _grid(2)
    for name, value in rows.items():
        if value is not None:
            table.add_row(Text(name, style="bold"), Text(value))
    return table


def _ort(machine: Machine) -> str:
    ort = machine.onnxruntime
    if ort is None or not ort.imports:
        return "onnxruntime does not import"
    return f"{ort.version} in {Path(ort.file).parent}"


def _cores(physical: int | None, logical: int) -> str:
    cores = "unknown number of cores" if physical is None else f"{physical} core{'s' * (physical != 1)}"
    return f"{cores}, {logical} logical CPU{'s' * (logical != 1)}"


def _clock(governor: str | None, driver: str | None, max_mhz: float | None) -> str | None:
    parts = [f"up to {max_mhz:.0f} MHz"] if max_mhz else []
    parts += [f"governor {governor}"] if governor else []
    parts += [f"driver {driver}"] if driver else []
    return ", ".join(parts) or None


def _memory(memory: Memory) -> str:
    limit = "no limit" if memory.limit is None else f"limit {_gib(memory.limit)}"
    free = "unknown" if memory.available is None else _gib(memory.available)
    return f"{'unknown' if memory.total is None else _gib(memory.total)}, {free} available, {limit}"


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"


def _gpu(gpu: Gpu) -> str:
    parts = [gpu.name]
    parts += [_gib(gpu.memory)] if gpu.memory else []
    parts += [f"driver {gpu.driver}"] if gpu.driver else []
    parts += [f"compute {gpu.compute}"] if gpu.compute else []
    return ", ".join(parts)


_COLOURS = {"loads": "green", "does not load": "red"}


def _providers(reports: tuple[ProviderReport, ...]) -> Table:
    table = _grid(3)
    for report in reports:
        lines = [report.reason] if report.reason else []
        lines += [f"devices: {', '.join(report.devices)}"] if report.devices else []
        lines += [f"wanted: {', '.join(report.wanted)}"] if report.wanted else []
        lines += [f"found: {', '.join(report.found)}"] if report.found and not report.loads else []
        state = Text(report.state, style=_COLOURS.get(report.state, ""))
        table.add_row(Text(report.name, style="bold"), state, Text("\n".join(lines)))
    return table


def _environment(notes: tuple[EnvNote, ...]) -> Table:
    table = _grid(2)
    for note in notes:
        state = "matters" if note.matters else "only seems to"
        table.add_row(Text(state), Text.assemble((f"{note.name}={note.value}", "bold"), f": {note.effect}"))
    return table


def _bullets(findings: tuple[str, ...]) -> Table:
    table = _grid(2)
    for number, finding in enumerate(findings, 1):
        table.add_row(Text(f"{number}."), Text(finding))
    return table

"""``hotlap inspect``: what is wrong with a model, and what mends it."""

from __future__ import annotations

from typing import Any

import click

from hotlap.cli.console import SAID_NO, common_options, print_json
from hotlap.cli.inspected import print_inspection
from hotlap.errors import HotlapError
from hotlap.inspect import CPUS, Inspection, Severity, inspect
from hotlap.inspect.executed import write_executed
from hotlap.inspect.github import failure_command, workflow_commands
from hotlap.inspect.sarif import sarif, sarif_of_failure
from hotlap.inspect.telling import with_paths


@click.command("inspect")
@click.argument("model", type=click.Path())
@click.option("--no-probe", is_flag=True, help="Only read the file: do not load or run the model.")
@click.option(
    "--data", metavar="FEEDS", type=click.Path(), help="A .npz file or a folder of them to run it on."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "sarif", "github")),
    default="text",
    show_default=True,
    help="sarif: for code scanning. github: annotations in a workflow's log.",
)
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning", "info", "never")),
    default="error",
    show_default=True,
    help="Exit with 1 when a finding is at least this severe.",
)
@click.option("--ignore", multiple=True, metavar="CODE", help="Leave out a code (HL405) or a theme (HL4).")
@click.option("--target-ort", metavar="VERSION", help="Judge for this release of ONNX Runtime, e.g. 1.20.")
@click.option("--target-cpu", metavar="NAME", help=f"Judge for this kind of processor: {', '.join(CPUS)}.")
@click.option(
    "--providers",
    metavar="A,B",
    default="cpu",
    show_default=True,
    help="Judge for these, first choice first.",
)
@click.option(
    "--executed",
    metavar="OUT.onnx",
    type=click.Path(),
    help="Write the graph that ONNX Runtime executes here.",
)
@common_options
def command(
    model: str,
    no_probe: bool,
    data: str | None,
    form: str,
    fail_on: str,
    ignore: tuple[str, ...],
    target_ort: str | None,
    target_cpu: str | None,
    providers: str,
    executed: str | None,
    as_json: bool,
) -> int:
    """Say what is wrong with MODEL, an .onnx file; each finding with what mends it.

    Unless --no-probe is given the model is run, in a process of its own, on inputs made to fit or on --data:
    some findings only show there.

    Exit code 1 when a finding is an error, or what --fail-on says.
    """
    if no_probe and (data is not None or executed is not None):
        raise click.UsageError("--data and --executed need the model to be run: leave --no-probe out")
    if as_json and form in ("sarif", "github"):
        raise click.UsageError(f"--json and --format {form} exclude each other: leave one out")
    form = "json" if as_json else form
    chain = [p.strip() for p in providers.split(",") if p.strip()]
    try:
        found = inspect(
            model,
            probe=not no_probe,
            data=data,
            target_ort=target_ort,
            target_cpu=target_cpu,
            providers=chain,
            ignore=[code.upper() for code in ignore],
            cost=form in ("text", "json"),
        )
        written = None if executed is None else write_executed(model, executed, providers=chain)
    except HotlapError as error:
        _show_failure(model, form, str(error))
        raise
    _show(with_paths(found), form, [] if written is None else [f"executed graph: {written}"])
    return SAID_NO if fail_on != "never" and found.fails(_severity(fail_on)) else 0


def _severity(word: str) -> Severity:
    severity: Any = word
    return severity  # type: ignore[no-any-return]


def _show_failure(model: str, form: str, why: str) -> None:
    """What reads the formats of CI gets one, whatever happened; stderr and the exit code say it too."""
    if form == "sarif":
        print_json(sarif_of_failure(model, why))
    elif form == "github":
        click.echo(failure_command(model, why))


def _show(found: Inspection, form: str, notes: list[str]) -> None:
    if form == "json":
        print_json(found)
    elif form == "sarif":
        print_json(sarif(found))
    elif form == "github":
        for line in workflow_commands(found):
            click.echo(line)
    else:
        print_inspection(found, notes)

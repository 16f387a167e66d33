"""``hotlap record``: run a program and record what it asks its models."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import msgspec

from hotlap.cli.console import common_options, print_json
from hotlap.runtime.recorded import CLAIM
from hotlap.runtime.recording import VARIABLE


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    required=True,
    type=click.Path(file_okay=False),
    help="Where to write.",
)
@click.option("--inputs", metavar="NAMES", help='Inputs whose values may be kept, with commas; or "all".')
@click.option("--feeds", type=click.IntRange(0), default=256, show_default=True, help="Kept at most.")
@click.option(
    "--megabytes", type=click.FloatRange(0), default=256.0, show_default=True, help="They take at most."
)
@click.argument("program", metavar="-- PROGRAM [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
@common_options
def command(
    output: str, inputs: str | None, feeds: int, megabytes: float, program: tuple[str, ...], as_json: bool
) -> int:
    """Run PROGRAM, with every model that it opens through hotlap.open recorded.

    Recorded are when requests came and what shapes they had. Values are kept of those inputs alone that
    --inputs names, for they may be personal. The exit code is the program's.
    """
    folder = Path(output).absolute()
    before = _recordings(folder)
    environment = {
        **os.environ,
        VARIABLE: str(folder),
        f"{VARIABLE}_INPUTS": inputs or "",
        f"{VARIABLE}_FEEDS": str(feeds),
        f"{VARIABLE}_MB": str(megabytes),
    }
    try:
        code = subprocess.run(program, env=environment, check=False).returncode
    except OSError as error:
        raise click.UsageError(f"{program[0]}: {error.strerror or error}") from error
    found = [_summary(path) for path in sorted(_recordings(folder) - before)]
    if as_json:
        print_json({"exit_code": code, "recordings": found})
    else:
        _say(found, folder)
    return code if code >= 0 else 128 - code


def _recordings(folder: Path) -> set[Path]:
    """The folder and those beside it that hold a recording."""
    if not folder.parent.is_dir():
        return set()
    beside = folder.parent.glob(f"{folder.name}-*")
    return {path for path in (folder, *beside) if (path / CLAIM).is_file()}


def _summary(folder: Path) -> dict[str, object]:
    shapes, arrivals = folder / "shapes.json", folder / "arrivals.txt"
    table = msgspec.json.decode(shapes.read_bytes()) if shapes.exists() else {"shapes": []}
    counted = table["shapes"]
    return {
        "folder": str(folder),
        "requests": sum(one["count"] for one in counted),
        "shapes": len(counted),
        "arrivals": len(arrivals.read_bytes().splitlines()) if arrivals.exists() else 0,
        "feeds": len(list((folder / "feeds").glob("*.npz"))),
        "missed": table.get("missed", 0),
    }


def _say(found: list[dict[str, object]], folder: Path) -> None:
    """To stderr: stdout is the program's."""
    if not found:
        sys.stderr.write(f"hotlap: nothing was recorded in {folder}: no model was run through hotlap.open\n")
    for one in found:
        sys.stderr.write(
            "hotlap: {folder}: {requests} requests of {shapes} different shapes, "
            "{arrivals} arrival times, {feeds} feeds\n".format_map(one)
        )
        if one["missed"]:
            sys.stderr.write(
                "hotlap: {missed} more were chosen and missed, since the disk was behind\n".format_map(one)
            )

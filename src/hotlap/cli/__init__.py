"""The command line: one file per verb, each one library call.

`COMMANDS` is the literal list of verbs; a verb's file is imported only when the verb is used, so that
``hotlap --help`` stays quick.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from hotlap import __version__
from hotlap.cli.console import Ended, prepare, report_error

COMMANDS: dict[str, str] = {
    "tune": "Find the fastest plan whose answers agree, by measuring.",
    "run": "Run a model or a plan once on given inputs.",
    "serve": "Serve models over HTTP: the Open Inference Protocol.",
    "bench": "Measure a model, a plan or a callable; compare it with others.",
    "compare": "Compare saved measurements; a gate for CI.",
    "record": "Run a program and record what it asks its models.",
    "doctor": "Say what can explain a number on this machine.",
}


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"hotlap.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            from hotlap.tensors import nearest  # it loads numpy, which no help text needs

            raise click.UsageError(f'no command "{args[0]}"{nearest(args[0], COMMANDS)}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hotlap")
def hotlap() -> None:
    """The fastest honest lap of a model on ONNX Runtime."""


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit: 0 well, 1 a gate said no, 2 wrong usage or bad input, 3 missing here."""
    args = (sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        prepare()
        code = hotlap.main(args, prog_name="hotlap", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # In this mode click itself exits for a broken pipe alone, and with 1, as a gate does.
        code = _nobody_reads()
    except (Exception, KeyboardInterrupt, Ended) as error:  # noqa: BLE001  the one place that turns errors into exit codes
        code = report_error(error, debug="--debug" in args, as_json="--json" in args)
    sys.exit(code if isinstance(code, int) else 0)


def _nobody_reads() -> int:
    """The exit code when whoever read has read enough, as shells have it: 128 + SIGPIPE."""
    # The interpreter must not try once more at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141

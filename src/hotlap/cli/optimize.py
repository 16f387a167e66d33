"""``hotlap optimize MODEL -o OUT``: a better file that is proved to be the same model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hotlap.cli.console import SAID_NO, common_options, print_json, progress, terminal
from hotlap.cli.types import AXES

if TYPE_CHECKING:
    from hotlap.passes import Optimised, Pass


class _InOrder(click.Command):
    """Remembers in which order the options of passes were given: they are applied in that order."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        from hotlap.passes import fix_for, named_pass

        parser = self.make_parser(ctx)
        _, _, order = parser.parse_args(args=list(args))
        makers = {"passes": named_pass, "fixes": fix_for}
        values = {name: iter(_given(args, option)) for name, option in _OPTIONS.items()}
        ctx.obj = [(makers[p.name], next(values[p.name])) for p in order if p.name in makers]
        return super().parse_args(ctx, args)


_OPTIONS = {"passes": "--pass", "fixes": "--fix"}


def _given(args: list[str], option: str) -> list[str]:
    """The values of an option, as they stand on the command line."""
    found = []
    for place, word in enumerate(args):
        if word == option:
            found.append(args[place + 1])
        elif word.startswith(f"{option}="):
            found.append(word.partition("=")[2])
    return found


@click.command("optimize", cls=_InOrder)
@click.argument("model", type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="The file to write; without it, nothing is written.")
@click.option(
    "--pass",
    "passes",
    multiple=True,
    metavar="NAME[:ARG]",
    help="A pass to apply, e.g. fold, fuse:extended, bind-axes:batch=1; several, in this order.",
)
@click.option(
    "--fix", "fixes", multiple=True, metavar="CODE", help="Mend a finding of hotlap inspect, e.g. HL101."
)
@click.option("--data", type=click.Path(), help="Your inputs: a .npz (one feed) or a folder of them.")
@click.option("--rows", is_flag=True, help="Each .npz holds many feeds along axis 0.")
@click.option(
    "--level",
    type=click.Choice(["exact", "close"]),
    default="exact",
    show_default=True,
    help="The gate; inputs that are made are judged at exact.",
)
@click.option(
    "--scores",
    type=AXES,
    multiple=True,
    metavar="NAME:AXIS",
    help="An output of class scores; its class axis.",
)
@click.option("--no-measure", is_flag=True, help="Do not compare the speed of source and result here.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    model: str,
    output: str | None,
    passes: tuple[str, ...],
    fixes: tuple[str, ...],
    data: str | None,
    rows: bool,
    level: str,
    scores: tuple[tuple[str, int], ...],
    no_measure: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Write a better file for MODEL, proved to give the same answers; or write nothing and say why.

    Without --pass and --fix it applies what suits every model: in old files weights out of the inputs, dead
    nodes gone, constants folded, denormal weights set to zero.
    """
    from hotlap.errors import UsageError
    from hotlap.passes import optimize

    chosen: list[Pass] | None = [make(text) for make, text in ctx.obj] or None
    with progress("optimising", 1.0, lines_after=0) as tell:
        done = optimize(
            model,
            chosen,
            output,
            data=data,
            rows=rows,
            level=level,
            scores=dict(scores),
            measure=not no_measure,
            force=force,
            on_progress=tell,
        )
    if chosen and not done.changed:
        why = "; ".join(f"{step.name}: {', '.join(step.notes)}" for step in done.steps)
        raise UsageError(f"{model}: nothing that was asked for changes it: {why}")
    if as_json:
        print_json(_summary(done))
    else:
        _show(done)
    return SAID_NO if done.refused else 0


def _summary(done: Optimised) -> dict[str, Any]:
    """Everything but the raw samples."""
    import msgspec

    table: dict[str, Any] = msgspec.to_builtins(done)
    for side in "ab":
        (table["comparison"] or {}).get(side, {}).pop("processes", None)
    return {**table, "written": done.written}


def _show(done: Optimised) -> None:
    from rich.text import Text

    console = terminal()
    for step in done.steps:
        for number, note in enumerate(step.notes):
            name = step.name if number == 0 else ""
            console.print(Text(f"{name:<22} {note}", style="" if step.changed else "dim"))
    for line in _lines(done):
        console.print(Text(line))
    console.print(Text(_verdict(done), style="bold"))


def _lines(done: Optimised) -> list[str]:
    from hotlap.cli.inspected import size

    lines = [
        f"Nodes: {done.nodes:,} before, {done.steps[-1].nodes:,} after. "
        f"Size: {size(done.size_before)} before, {size(done.size)} after."
    ]
    if done.verdict is not None:
        inputs = "made to fit the signature (give --data for your own)" if done.verdict.generated else "yours"
        found = "agree" if done.verdict.passed else "differ" if done.verdict.inputs else "are not there"
        lines.append(f"Answers {found}: {done.verdict.reason}. Inputs: {inputs}.")
        lines += [f"Note: {note}." for note in done.verdict.notes]
        lines += [f"What would unlock it: {done.verdict.unlock}."] if done.verdict.unlock else []
    lines.append(_speed(done))
    return [line for line in lines if line]


def _speed(done: Optimised) -> str:
    one = done.comparison
    if one is None:
        return f"Speed: not measured: {done.not_measured}." if done.not_measured else ""
    if one.void:
        return f"Speed: {one.doubts[0]}.{_cpu(done)}"
    verdict = one.verdict if one.enough else "not enough data to tell"
    doubts = "".join(f" Doubt: {doubt}." for doubt in one.doubts)
    return (
        f"Speed here: {one.ratio:.2f} times as fast ({one.low:.2f} to {one.high:.2f}): {verdict}. "
        f"95 % interval over {len(one.a.processes)} + {len(one.b.processes)} fresh processes in turn.{doubts}"
    )


def _cpu(done: Optimised) -> str:
    """Where the latencies are void: what each call took of the CPUs, which others disturb less."""
    one = done.cpu
    if one is None:
        return ""
    low, high = 1 / one.high, 1 / one.low
    word = {"faster": "less", "slower": "more"}.get(one.verdict, "no difference")
    return (
        f" CPU time a call: {1 / one.ratio:.2f} times that of the source ({low:.2f} to {high:.2f}): {word}."
    )


def _verdict(done: Optimised) -> str:
    return f"Written: {done.out}" if done.written else f"Nothing written, because {done.reason}"

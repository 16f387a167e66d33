"""``hotlap compare``: saved measurements against each other."""

from __future__ import annotations

import click
import msgspec

from hotlap.bench import Comparison, Measurement, append_history, compare_measurements
from hotlap.bench.measurement import kind_of
from hotlap.cli.console import SAID_NO, common_options, print_json
from hotlap.cli.measured import document, print_comparisons
from hotlap.cli.types import PERCENT


@click.command()
@click.argument("files", metavar="BASELINE CANDIDATE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--fail-if-slower",
    metavar="SHARE",
    type=PERCENT,
    help="Exit with 1 when a candidate is slower beyond the noise, and by more than this, e.g. 5%.",
)
@click.option(
    "--strict", is_flag=True, help="Exit with 1 also when nothing was shown: void, or too few data."
)
@click.option(
    "--percentile", type=float, default=50.0, show_default=True, help="Of the latency that is compared."
)
@click.option(
    "--same-within", type=PERCENT, default="2%", show_default=True, help="Margin of calling them the same."
)
@click.option("--save", metavar="FILE", type=click.Path(dir_okay=False), help="Keep the comparison as JSON.")
@click.option("--history", metavar="FILE", type=click.Path(dir_okay=False), help="Append a JSON line each.")
@common_options
def command(
    files: tuple[str, ...],
    fail_if_slower: float | None,
    strict: bool,
    percentile: float,
    same_within: float,
    save: str | None,
    history: str | None,
    as_json: bool,
) -> int:
    """Compare measurements that ``hotlap bench --save`` wrote.

    The first file is the baseline of all others; with several, the intervals are corrected for many looks.
    One file alone must be a comparison, whose two sides are compared again.

    Two measurements that were made one after the other, and not in turn, differ by whatever changed in
    between; that is a doubt, and it is printed.
    """
    baseline, candidates = _sides(files)
    if save is not None and len(candidates) > 1:
        raise click.UsageError("--save is for one comparison")
    found = [
        compare_measurements(
            baseline, candidate, percentile=percentile, looks=len(candidates), same=same_within
        )
        for candidate in candidates
    ]
    if save is not None:
        found[0].save(save)
    for one in found if history is not None else ():
        append_history(history or "", one)
    if as_json:
        print_json(document(found))
    else:
        print_comparisons(found, [] if save is None else [f"all samples: {save}"])
    failed = any(one.fails(fail_if_slower) for one in found) if fail_if_slower is not None else False
    nothing = strict and any(one.void or not one.enough for one in found)
    return SAID_NO if failed or nothing else 0


def _sides(files: tuple[str, ...]) -> tuple[Measurement, list[Measurement]]:
    if len(files) == 1:
        if kind_of(files[0]) != "comparison":
            raise click.UsageError("name a baseline and a candidate, or one saved comparison")
        one = Comparison.load(files[0])
        return one.a, [one.b]
    measured = [_side(path) for path in files]
    labels = [m.target.label for m in measured]
    if len(set(labels)) < len(labels):  # the same model of two days: its file tells them apart
        measured = [
            msgspec.structs.replace(m, target=msgspec.structs.replace(m.target, label=str(path)))
            for m, path in zip(measured, files, strict=True)
        ]
    return measured[0], measured[1:]


def _side(path: str) -> Measurement:
    """A measurement; of a saved comparison its candidate, which is what it was made about."""
    if kind_of(path) == "comparison":
        return Comparison.load(path).b
    return Measurement.load(path)

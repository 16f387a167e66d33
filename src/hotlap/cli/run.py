"""``hotlap run``: one call of a model or a plan on given inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from hotlap.cli.arrays import plain, read_inputs, write_outputs
from hotlap.cli.console import common_options, print_json
from hotlap.errors import InputError, MissingExtra, ModelError
from hotlap.runtime import Runner, find_feed, open

_FIRST = 6  # values of an output that are shown
_MOST_IN_JSON = 1000

Results = dict[str, Any]


@click.command()
@click.argument("plan_or_model", type=click.Path())
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="NAME=FILE.npy, NAME=FILE.npz, NAME=JSON such as 'x=[[1, 2]]', or FILE.npz with the names inside.",
)
@click.option("--generate", is_flag=True, help="Make the inputs that are not given (seed 0).")
@click.option(
    "--output", metavar="DIR", type=click.Path(file_okay=False), help="Write each output to a .npy here."
)
@click.option("--providers", metavar="A,B", help="Execution providers, first choice first, such as cuda,cpu.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads inside the call.")
@click.option("--spin", metavar="on|off|<n>us", help="How long idle threads busy-wait.")
@click.option("--allow-custom-ops", multiple=True, metavar="FILE", help="A library that the plan may load.")
@common_options
def command(
    plan_or_model: str,
    inputs: tuple[str, ...],
    generate: bool,
    output: str | None,
    providers: str | None,
    threads: int | None,
    spin: str | None,
    allow_custom_ops: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run PLAN_OR_MODEL once: an .onnx file, a plan, or a .lap folder.

    Prints a summary of each output. With --json, outputs of up to 1000 values come whole.
    """
    chain = None if providers is None else [p.strip() for p in providers.split(",")]
    with open(
        plan_or_model,
        providers=chain,
        threads=threads,
        spin=spin,
        warm=False,
        allow_custom_ops=allow_custom_ops,
    ) as runner:
        feed = read_inputs(inputs, runner.inputs)
        if generate:
            feed = _completed(runner, feed)
        results = _run(runner, feed)
        files = {} if output is None else write_outputs(Path(output), results)
        if as_json:
            print_json(_document(runner, results, files))
        else:
            _print(runner, results, files)


def _run(runner: Runner, feed: dict[str, Any]) -> Results:
    try:
        return runner.run(feed)
    except InputError as error:
        expected = {f'input "{s.name}": missing from the feed': s.label for s in runner.inputs}
        hint = "give --input, or --generate to make one"
        raise InputError(
            [f"{p}; expected {expected[p]}: {hint}" if p in expected else p for p in error.problems]
        ) from error


def _completed(runner: Runner, given: dict[str, Any]) -> dict[str, Any]:
    """The feed with what it lacks made up: sizes follow the arrays that are there."""
    shapes = {s.name: np.shape(given[s.name]) for s in runner.inputs if s.name in given}
    found = find_feed(
        lambda feed: runner.run({**feed, **given}),
        runner.inputs,
        shapes=shapes,
        limits=_limits(runner.model_path),
    )
    return {**found, **given}


def _limits(path: Path) -> dict[str, int]:
    from hotlap.model import Model  # loads onnx, which a run with all inputs given does not need

    try:
        return Model.load(path).id_limits()
    except (MissingExtra, ModelError):  # ORT's own format runs, but its graph cannot be read
        return {}


# ── what is shown ─────────────────────────────────────────────────────────────────────────────────────


def _document(runner: Runner, results: Results, files: dict[str, Path]) -> dict[str, Any]:
    return {
        "model": str(runner.model_path),
        "providers": runner.providers,
        "placement": runner.placement,
        "threads": runner.threads,
        "spin": runner.plan.spin,
        "notes": runner.notes,
        "outputs": {name: _described(value) for name, value in results.items()},
        "files": {name: str(file) for name, file in files.items()},
    }


def _described(value: Any) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        return {"kind": type(value).__name__, "values": plain(value) if len(value) <= _MOST_IN_JSON else None}
    low, mean, high = _range(value) or (None, None, None)
    whole = plain(value) if value.size <= _MOST_IN_JSON else None
    return {
        "dtype": _dtype(value),
        "shape": value.shape,
        "min": low,
        "mean": mean,
        "max": high,
        "not_finite": _not_finite(value),
        "first": plain(value.ravel()[:_FIRST]),
        "values": whole,
    }


def _print(runner: Runner, results: Results, files: dict[str, Path]) -> None:
    placed = ", ".join(f"{count} nodes on {name}" for name, count in runner.placement.items())
    click.echo(f"{runner.model_path.name}: {placed}; threads {runner.threads}; spin {runner.plan.spin}")
    for name, value in results.items():
        where = f"  -> {files[name]}" if name in files else ""
        click.echo(f"{_printable(name)}  {_summary(value)}{where}")


def _summary(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return f"{type(value).__name__} of {len(value)}  {_printable(str(plain(value[:2])))}"
    parts = [f"{_dtype(value)}{list(value.shape)}"]
    if known := _range(value):
        parts.append("min {:.6g}  mean {:.6g}  max {:.6g}".format(*known))
    if strange := _not_finite(value):
        parts.append(f"{strange} not finite")
    first = plain(value.ravel()[:_FIRST])
    shown = " ".join(f"{v:.6g}" if isinstance(v, float) else _printable(str(v)) for v in first)
    parts.append(f"first {shown}{' …' if value.size > _FIRST else ''}" if first else "empty")
    return "  ".join(parts)


def _range(array: Any) -> tuple[float, float, float] | None:
    """Smallest, mean and largest of the finite values; None where there are none, or no numbers."""
    if array.dtype.kind not in "iuf":
        return None
    finite = array[np.isfinite(array)]
    if not finite.size:
        return None
    return float(finite.min()), float(finite.mean(dtype=np.float64)), float(finite.max())


def _not_finite(array: Any) -> int:
    return int(np.count_nonzero(~np.isfinite(array))) if array.dtype.kind in "fc" else 0


def _dtype(array: Any) -> str:
    return "string" if array.dtype.hasobject else str(array.dtype)


def _printable(text: str) -> str:
    """Names and text come from the model: a terminal must not obey them."""
    return text if text.isprintable() and text else repr(text)

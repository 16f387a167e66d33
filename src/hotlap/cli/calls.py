"""``hotlap bench MODEL --calls``: the ways to call one model, side by side."""

from __future__ import annotations

import msgspec
from rich.markup import escape
from rich.table import Table

from hotlap.bench.calls import Calls, compare_calls
from hotlap.bench.data import load_feeds
from hotlap.cli.console import print_json, terminal
from hotlap.cli.measured import time_label
from hotlap.runtime import find_feed, open


def show_calls(model: str, data: str | None, rows: bool, seconds: float, seed: int, as_json: bool) -> int:
    """Measures each way for about `seconds` and shows the ratios; the exit code."""
    with open(model, warm=False) as runner:
        feeds = load_feeds(data, rows=rows) if data else [find_feed(runner.run, runner.inputs, seed=seed)]
        result = compare_calls(runner, feeds, 10 * seconds, seed)
    if as_json:
        print_json(msgspec.to_builtins(result))
    else:
        _print(result, data)
    return 0


def _print(result: Calls, data: str | None) -> None:
    console = terminal()
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("way")
    for name in ("a call", "ratio", "95 % interval"):
        table.add_column(name, justify="right")
    table.add_column("")
    for way in result.ways:
        if way.seconds is None or way.ratio is None or way.low is None or way.high is None:
            table.add_row(escape(way.name), "", "", "", escape(way.note))
        else:
            interval = f"{way.low:.2f} to {way.high:.2f}"
            table.add_row(
                escape(way.name), time_label(way.seconds), f"{way.ratio:.2f}", interval, escape(way.what)
            )
    console.print(table)
    given = data or "one feed, generated to fit the signature"
    console.print(escape(f"\ninputs: {given}; {result.rounds} rounds in turn"))
    console.print(escape(f"hotlap run is {result.path}: {result.why}"))

"""What `verify` found of each output, as tables that fit the terminal: numbers are never cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotlap.verify import OutputDiff

__all__ = ["tables"]

_HEADS = (
    "output",
    "max",
    "mean",
    "of range",
    "rms",
    "noise",
    "rel. max",
    "near",
    "cosine",
    "top-1",
    "top-5",
    "IoU",
)
_BESIDE = 1
"""Columns between two columns of a table."""


def tables(outputs: Sequence[OutputDiff], width: int) -> list[Any]:
    """One table with a row for each output; where the terminal is too narrow for that, one for each output.

    Args:
        outputs: at least one.
        width: of the terminal, in characters.
    """
    limits = _limits()
    shown = [_cells(diff) for diff in outputs]
    used = [n for n in range(len(_HEADS)) if n == 0 or any(row[n] for row in shown)]
    rows = [[row[n] for n in used] for row in (*shown, limits)]
    heads = [_HEADS[n] for n in used]
    least = [max(_longest_word(row[n]) for row in (*rows, heads)) for n in range(len(used))]
    if sum(least) + _BESIDE * (len(least) - 1) <= width:
        return [_wide(heads, rows, least)]
    return [_narrow(heads, row, rows[-1]) for row in rows[:-1]]


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _wide(heads: list[str], rows: list[list[str]], least: list[int]) -> Any:
    """Cells wrap between words, never inside one."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for n, head in enumerate(heads):
        table.add_column(head, justify="left" if n == 0 else "right", min_width=least[n], overflow="fold")
    for row in rows[:-1]:
        table.add_row(*map(Text, row))
    table.add_row(*map(Text, rows[-1]), style="dim")
    return table


def _narrow(heads: list[str], row: list[str], limits: list[str]) -> Any:
    """One output, a line for each number."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, head in enumerate((heads[0], row[0], limits[0])):
        table.add_column(Text(head), justify="left" if place == 0 else "right", overflow="fold")
    for head, value, limit in zip(heads[1:], row[1:], limits[1:], strict=True):
        table.add_row(head, Text(value), Text(limit, style="dim"))
    return table


def _limits() -> tuple[str, ...]:
    from hotlap.verify.levels import COSINE, NEAR, NEAR_SHARE, NOISE_FACTOR

    return (
        "allowed", "", "", f"exact: {NOISE_FACTOR:g}x noise", f"{NOISE_FACTOR:g}x", "", "",
        f"close: {NEAR_SHARE:.1%} in {NEAR:.0%}", f"{COSINE}", "all", "", "",
    )  # fmt: skip


def _cells(diff: OutputDiff) -> tuple[str, ...]:
    noise = "" if diff.noise is None else f"{diff.noise.max_rel:.2g} ({diff.noise.rms:.2g})"
    return (
        diff.name,
        f"{diff.max_abs:.3g}",
        f"{diff.mean_abs:.3g}",
        f"{diff.max_rel:.2g}",
        f"{diff.rms:.2g}",
        noise,
        f"{diff.max_relative:.2g}",
        f"{diff.within:.2%}",
        f"{diff.cosine:.6f}",
        "" if diff.top1 is None else f"{diff.top1:.2%}",
        "" if diff.top5 is None else f"{diff.top5:.2%}",
        "" if diff.iou is None else f"{diff.iou:.4f}",
    )

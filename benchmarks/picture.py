"""A chart of ratios with their intervals, as SVG: one row a model. No plotting library: it is sixty lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

ROW, LEFT, RIGHT, WIDTH, TOP = 26, 300, 160, 930, 44
DARK = "#1d2733"
COLOURS = {"faster": "#1a7f4b", "slower": "#b3402a"}


class Bar(NamedTuple):
    """One row: a name, the ratio with its interval, and a word beside it."""

    name: str
    ratio: float
    low: float
    high: float
    word: str


def chart(title: str, bars: Sequence[Bar]) -> str:
    """An SVG document. Its axis is logarithmic: twice as fast and half as fast lie equally far from 1."""
    least = min(0.8, *(b.low for b in bars)) * 0.97
    most = max(1.25, *(b.high for b in bars)) * 1.03

    def x(ratio: float) -> float:
        share = (math.log(ratio) - math.log(least)) / (math.log(most) - math.log(least))
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    foot = TOP + ROW * len(bars)
    height = foot + 34
    ticks = [t for t in (0.25, 0.5, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0) if least < t < most]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="sans-serif" font-size="13">',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            _text(12, 22, title, DARK, extra='font-size="15" font-weight="bold"'),
            *(mark for tick in ticks for mark in _tick(tick, x(tick), foot)),
            *(mark for n, bar in enumerate(bars) for mark in _row(bar, TOP + ROW * (n + 0.5), x)),
            "</svg>\n",
        ]
    )


def _tick(ratio: float, x: float, foot: float) -> list[str]:
    colour = DARK if ratio == 1.0 else "#d5dbe1"
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{foot}" stroke="{colour}"/>'
    return [line, _text(x, foot + 18, f"{ratio:g}x", "#55606b", extra='text-anchor="middle"')]


def _row(bar: Bar, y: float, x: Callable[[float], float]) -> list[str]:
    colour = COLOURS.get(bar.word, "#8a949e")
    ends = f'x1="{x(bar.low):.1f}" x2="{x(bar.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"'
    return [
        _text(LEFT - 14, y + 4, bar.name, DARK, extra='text-anchor="end"'),
        f'<line {ends} stroke="{colour}" stroke-width="3"/>',
        f'<circle cx="{x(bar.ratio):.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>',
        _text(WIDTH - RIGHT + 14, y + 4, f"{bar.ratio:.2f}x {bar.word}", colour),
    ]


def _text(x: float, y: float, text: str, colour: str, extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {extra}>{escape(text)}</text>'

"""From the differences to a verdict: the rules of each level. Pure: numbers in, words out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hotlap.verify.levels import BOX_IOU, COSINE, NEAR, NEAR_SHARE, NOISE_FACTOR
from hotlap.verify.tallies import Tallies
from hotlap.verify.tally import Tally, Worst
from hotlap.verify.verdict import Noise, OutputDiff

__all__ = [
    "breakage",
    "close_failures",
    "exact_failures",
    "excess",
    "guessed_columns",
    "not_finite",
    "not_finite_input",
    "said_close",
    "said_exact",
    "worst",
    "worst_input",
    "worst_value",
]


def breakage(tallies: Tallies) -> str | None:
    """What no level forgives: an input that is refused, an output that is gone, or of another form more often
    than the noise makes it so, NaN or infinity against a number."""
    if tallies.refused is not None:
        times, told = tallies.refused
        return f"{told} ({times:,} of {tallies.inputs:,} inputs are refused)"
    if tallies.lost is not None:
        return tallies.lost
    for name, found in tallies.reshaped.items():
        if found.times / tallies.inputs > tallies.usually_reshaped(name):
            return found.told
    for tally in tallies.tallies.values():
        if tally.odd is not None:
            return f"{tally.odd.told} ({tally.broken:,} such values)"
    return None


def excess(tally: Tally) -> float:
    """How many times what `exact` allows one output differs: more than 1 fails."""
    noise = tally.noise or Noise()
    if not tally.span.epsilon:
        allowed = noise.mismatched * tally.count * (1 + 1e-9)
        return math.inf if tally.count - tally.near > allowed else 0.0
    found = ((tally.share, noise.max_rel), (tally.rms, noise.rms))
    return max(_times(apart, NOISE_FACTOR * n + tally.span.floor) for apart, n in found)


def _times(apart: float, limit: float) -> float:
    """Where nothing is allowed, anything is beyond it: a reference of zeros alone has no noise and no last
    place."""
    return apart / limit if limit else math.inf if apart else 0.0


def exact_failures(tallies: Tallies) -> list[str]:
    """Outputs that differ by more than the model's own noise, the worst first; empty: exact."""
    failing = [(excess(tally), tally) for tally in tallies.tallies.values()]
    failing = sorted((one for one in failing if one[0] > 1), key=lambda one: -one[0])
    return [_inexact(tally) for _, tally in failing]


def _inexact(tally: Tally) -> str:
    noise = tally.noise or Noise()
    if not tally.span.epsilon:
        return _unequal(tally, noise)
    if not tally.span.size:
        return (
            f'output "{tally.name}" is 0 throughout, the candidate\'s is off by up to {tally.share:.2g}, '
            f"the model's own float noise is {noise.max_rel:.2g}"
        )
    return (
        f'output "{tally.name}" differs by up to {tally.share:.2g} of its range (rms {tally.rms:.2g}), '
        f"the model's own float noise is {noise.max_rel:.2g} (rms {noise.rms:.2g})"
    )


def _unequal(tally: Tally, noise: Noise) -> str:
    differ = tally.count - tally.near
    usual = f", the noise changes {noise.mismatched:.2%}" if noise.mismatched else ""
    return f'output "{tally.name}": {differ:,} of {tally.count:,} values are not equal{usual}'


def close_failures(tallies: Tallies) -> list[str]:
    """Outputs that are not close; empty: close."""
    found: list[str] = []
    for tally in tallies.tallies.values():
        if not tally.span.epsilon:
            if tally.within < NEAR_SHARE:
                found.append(_unequal(tally, Noise()))
            continue
        if not tally.span.size:  # zeros have no range to be near in, and no direction for a cosine
            found += [_inexact(tally)] if excess(tally) > 1 else []
            continue
        if tally.within < NEAR_SHARE:
            found.append(
                f'output "{tally.name}": {tally.within:.2%} of its values within {NEAR:.0%} of its range'
            )
        if tally.cosine < COSINE:
            found.append(f'output "{tally.name}": cosine {tally.cosine:.5f}')
        if tally.ranks and tally.ranks.differ:
            rows = f"{tally.ranks.differ:,} of {tally.ranks.rows:,} rows"
            found.append(f'output "{tally.name}": another first place on {rows}')
        if tally.boxes and tally.boxes.named and tally.boxes.share < NEAR_SHARE:
            share = f"{tally.boxes.share:.2%} of its boxes"
            found.append(f'output "{tally.name}": {share} overlap by {BOX_IOU:.0%} or more')
    return found


def said_exact(diffs: Sequence[OutputDiff]) -> str:
    """The numbers of a pass, of the output that moved most."""
    moved = [d for d in diffs if d.max_rel > 0]
    if not moved:
        return "every value is the same"
    most = max(moved, key=lambda d: d.max_rel)
    noise = most.noise.max_rel if most.noise else 0.0
    return f"differences up to {most.max_rel:.2g} of the range, the model's own float noise is {noise:.2g}"


def said_close(diffs: Sequence[OutputDiff]) -> str:
    """The numbers of a pass, the least good of each kind."""
    said = f"{min((d.within for d in diffs), default=1.0):.2%} of the values within {NEAR:.0%} of the range"
    said += f", cosine {min((d.cosine for d in diffs if d.cosine), default=1.0):.5f}"
    rows = sum(d.top1_rows for d in diffs)
    if not rows:
        return said
    agree = sum(round((d.top1 or 0) * d.top1_rows) for d in diffs)
    ties = rows - agree - sum(d.top1_differ for d in diffs)
    forgiven = f" ({ties:,} ties within the noise)" if ties else ""
    return f"{said}, the same first place on {agree:,} of {rows:,} rows{forgiven}"


def worst(tallies: Tallies) -> str:
    """The value that differs most, as a share of its output's range, in words; "" where none does."""
    most = worst_value(tallies)
    return "" if most is None else most.told


def worst_value(tallies: Tallies) -> Worst | None:
    """A value that is no number on one side alone; else the one that differs most; None where none does."""
    all_of = tallies.tallies.values()
    found = [w for w in (*(t.odd for t in all_of), *(t.worst for t in all_of)) if w is not None]
    return max(found, key=lambda w: w.share, default=None)


def worst_input(tallies: Tallies) -> int | None:
    """The number of the input to look at: one that was refused or gave another form, else that of the worst
    value; None where nothing differs."""
    if tallies.first_odd is not None:
        return tallies.first_odd
    most = worst_value(tallies)
    return None if most is None else most.input


def not_finite(tallies: Tallies) -> list[str]:
    """A sentence for each output with NaN or infinity at the same places of both sides."""
    return [
        f'output "{t.name}": {t.alike:,} of {t.count:,} values are the same NaN or infinity on both sides'
        for t in tallies.tallies.values()
        if t.alike
    ]


def guessed_columns(tallies: Tallies) -> list[str]:
    """A sentence for each output whose columns were compared without knowing what they hold."""
    return [
        f'output "{name}" is maps on one side and a tensor on the other, and neither file says which column '
        "holds which label: they were taken in the sorted order of the labels"
        for name in sorted(tallies.guessed)
    ]


def not_finite_input(tallies: Tallies) -> int | None:
    """The first input on which both sides answer so."""
    return min((t.alike_in for t in tallies.tallies.values() if t.alike_in is not None), default=None)

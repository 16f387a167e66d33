"""What a bisection finds: `Divergence`, the first node at which two models part, or that gives no number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

__all__ = ["Divergence", "Seen", "Walked"]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One value that the found node reads, and whether it is the same on both sides.

    Attributes:
        name: of the value.
        agrees: it is; None where nobody could look.
        said: how far it differs, or why nobody could look.
    """

    name: str
    agrees: bool | None
    said: str


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The first node whose answer differs, in the order of the reference's graph.

    Attributes:
        kind: "differs": by more than the noise; "not finite": NaN or infinity where there was a number;
            "form": another shape or another element type.
        node: where it stands in the reference's graph (`hotlap.model.walk.Node.label`).
        other: where the candidate's stands; "" where its label is the same.
        value: the value that it makes.
        place: of the element that differs most.
        before, after: that element on both sides, as text; shapes for "form".
        share: the largest difference, as a share of the value's range.
        rms: root mean square of the differences, as a share of the range.
        noise, noise_rms: how far the reference's own value moves by rounding alone.
        inputs: what the node reads.
        input: number of the feed on which it showed.
    """

    kind: Literal["differs", "not finite", "form"]
    node: str
    other: str = ""
    value: str
    place: str = ""
    before: str
    after: str
    share: float = 0.0
    rms: float = 0.0
    noise: float = 0.0
    noise_rms: float = 0.0
    inputs: tuple[Seen, ...] = ()
    input: int = 0

    @property
    def label(self) -> str:
        """One line for people."""
        where = f'{self.node}, value "{self.value}"{self.place} of input {self.input}'
        if self.kind == "form":
            return f"{where}: {self.before} became {self.after}"
        said = f"{where}: {self.before} became {self.after}" if self.before else f"{where}: {self.after}"
        if self.kind == "not finite":
            return said
        return (
            f"{said}; it differs by up to {self.share:.2g} of its range (rms {self.rms:.2g}), "
            f"its noise is {self.noise:.2g} (rms {self.noise_rms:.2g})"
        )


class Walked(msgspec.Struct, frozen=True, kw_only=True):
    """What a bisection did and found.

    Attributes:
        found: the first node that differs; None: none does.
        compared: values that were looked at.
        values: values that the reference's nodes make.
        by: how the values of both models were paired: "name" or "position"; "" for one model alone.
        skipped: names of values that could not be looked at (sequences, text inside of branches), the first.
        refused: numbers of the feeds that a side did not take, so that nothing was compared on them.
        why_refused: what that side said of the first; "" where none was refused.
    """

    found: Divergence | None
    compared: int
    values: int
    by: str = "name"
    skipped: tuple[str, ...] = ()
    refused: tuple[int, ...] = ()
    why_refused: str = ""

    def numbered(self, numbers: Sequence[int]) -> Walked:
        """The same, with the feeds' numbers among all inputs for those among the feeds."""
        found = self.found and msgspec.structs.replace(self.found, input=numbers[self.found.input])
        refused = tuple(numbers[n] for n in self.refused)
        return msgspec.structs.replace(self, found=found, refused=refused)

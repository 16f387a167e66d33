"""The bisecting process: ``python -m hotlap.verify.bisect_child REQUEST``.

It gives copies of the models more outputs, some dozen values at a time in the order of the reference's nodes,
runs them, and stops at the first value that differs by more than the noise.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from hotlap.bench import Target, load_feeds
from hotlap.bench.child import end_with_parent
from hotlap.bench.exchange import answer_and_end
from hotlap.verify.divergence import Walked
from hotlap.verify.finite import Finite
from hotlap.verify.inside import Inside
from hotlap.verify.parting import Parting

__all__ = ["BisectRequest"]


class BisectRequest(msgspec.Struct, kw_only=True):
    """What to compare (JSON).

    Attributes:
        reference: a model or a plan.
        candidate: the other; None: look for the first value of the reference that is no number.
        feeds: a folder of inputs.
        home: an empty folder for copies of the models.
        found: the file to write the `Walked` to.
        outcome: the file to write the `Outcome` to.
    """

    reference: Target
    candidate: Target | None
    feeds: str
    home: str
    found: str
    outcome: str


def bisect(request: BisectRequest) -> Walked:
    """The first value that differs, or is no number.

    Raises:
        HotlapError: a model cannot be read, or does not run.
    """
    feeds = load_feeds(request.feeds)
    before = Inside(request.reference, Path(request.home) / "reference")
    after = None if request.candidate is None else Inside(request.candidate, Path(request.home) / "candidate")
    # Else every copy would fail on such a feed, one value after the other.
    refused = {} if after is None else after.refusals(feeds)
    refused |= before.refusals(feeds)
    kept = [number for number in range(len(feeds)) if number not in refused]
    left = [feeds[number] for number in kept]
    walked = (Finite(before, left) if after is None else Parting(before, after, left)).walked()
    return msgspec.structs.replace(
        walked.numbered(kept),
        refused=tuple(sorted(refused)),
        why_refused=refused[min(refused)] if refused else "",
    )


def main() -> None:
    request = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=BisectRequest)
    end_with_parent()

    def work() -> None:
        Path(request.found).write_bytes(msgspec.msgpack.encode(bisect(request)))

    answer_and_end(work, request.outcome)


if __name__ == "__main__":
    main()

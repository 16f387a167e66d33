"""How large the values inside a model become, found by running it on inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hotlap.bench import load_feeds, save_feeds
from hotlap.passes.draft import Draft
from hotlap.passes.tools import Scratch, run_tool
from hotlap.runtime import open as open_model

__all__ = ["Range", "measured_ranges", "tool"]


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """What a value's magnitudes were, over all inputs.

    Attributes:
        high: the largest; infinite where one was infinite or no number.
        low: the smallest above 0; infinite where all were 0.
    """

    high: float = 0.0
    low: float = float("inf")

    def with_(self, array: Any) -> Range:
        """The range of these values as well."""
        size = np.abs(array)
        above = size[size > 0]
        finite = bool(np.isfinite(size).all())
        high = float(size.max(initial=0)) if finite else float("inf")
        low = float(above.min()) if above.size and finite else float("inf")
        return Range(high=max(self.high, high), low=min(self.low, low))


def measured_ranges(
    draft: Draft, values: Sequence[str], feeds: Sequence[Mapping[str, Any]]
) -> dict[str, Range]:
    """The ranges of float values of the model's own graph.

    Args:
        draft: the model.
        values: which.
        feeds: inputs, by the source's names.

    Raises:
        TargetFailed: the model does not run.
    """
    proto = draft.copy()
    have = set(draft.output_names)
    blank = type(proto.graph.output[0])
    proto.graph.output.extend(blank(name=value) for value in values if value not in have)
    scratch = Scratch()
    own = [{n: feed[source] for n, source in draft.inputs.items()} for feed in feeds]
    save_feeds(scratch.path / "feeds", own)
    options = {"feeds": str(scratch.path / "feeds"), "values": list(values)}
    result, kept = run_tool("ranges", draft.edited(proto), options)
    found = msgspec.msgpack.decode(result.read_bytes(), type=dict[str, Range])
    del scratch, kept
    return found


def tool(source: Path, result: Path, feeds: str, values: list[str]) -> None:
    """Runs in the tool's process."""
    found = dict.fromkeys(values, Range())
    session = {"graph_optimization_level": "ORT_DISABLE_ALL"}
    with open_model(source, providers="cpu", session=session, warm=False) as runner:
        for feed in load_feeds(feeds):
            answers = runner.run(feed)
            for value in values:
                if answers[value].dtype.kind == "f":
                    found[value] = found[value].with_(answers[value])
    result.write_bytes(msgspec.msgpack.encode(found))

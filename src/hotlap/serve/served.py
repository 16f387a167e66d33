"""One model that is being served, with all that belongs to it: `Served`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hotlap.plan import Facts, Serve
from hotlap.runtime import Face
from hotlap.serve.statistics import Statistics

__all__ = ["Served"]


@dataclass(eq=False, slots=True, kw_only=True)
class Served:
    """One model that is being served.

    Attributes:
        name: in URLs.
        version: in URLs; a text, as the protocol has it.
        runner: the loaded model, shared by all lanes.
        facts: what probing learned; rows share a call only where it says "independent".
        serve: how it is served.
        lanes: threads that run its calls.
        loops: values of its inputs can decide how long a call takes: none may be run where it cannot be
            stopped, or where others wait for its end.
        labels: output to the names of its classes.
        statistics: counted on the event loop's thread alone.
        ready: it has been warmed.
        together: requests that are taken up together at most, where the event loop reads them in one turn
            and runs their calls itself; 1: each is taken up at once.
    """

    name: str
    version: str = "1"
    runner: Face
    facts: Facts = field(default_factory=Facts)
    serve: Serve = field(default_factory=Serve)
    lanes: int = 1
    loops: bool = False
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    statistics: Statistics = field(default_factory=Statistics)
    ready: bool = False
    together: int = 1

"""What does serving cost? `hotlap serve` beside FastAPI, MLServer, LitServe, BentoML and the bare session."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import serve_table
from benchmarks.rivals import cases, load, servers, venvs
from benchmarks.rivals.bare import bare_session
from benchmarks.rivals.cases import Case
from benchmarks.rivals.running import Running, running
from benchmarks.rivals.servers import Server
from benchmarks.rivals.spans import Place, Watch, loaded, quietest, said_by, two_cpus
from benchmarks.trials import Trial, Trials
from hotlap.bench.rounds import balanced

CLAIM = (
    "On a model of microseconds one client waits at most half of what it waits for FastAPI and a quarter of "
    "what it waits for MLServer; with 32 clients a request takes at most a quarter of FastAPI's CPU time, a "
    "fifth of MLServer's and 60 µs, at no less than 2.5 times FastAPI's requests a second. On a model of "
    "milliseconds serving adds at most 3 % to the bare session. Tensors of 600 KB take through shared memory "
    "at most 0.45 of their time over HTTP. It is ready within 1.5 s, in 120 MB, and idles below 1 % of a CPU."
)
METHOD = (
    "The server has one CPU, the client (wrk, one thread) another. Each rival is written as its own "
    "documentation does it, its access log off, with the same ONNX Runtime in a virtual environment of its "
    "own (`benchmarks/rivals/`); every server must first give the session's own answer. `hotlap serve` gets "
    "the model's file and no options (so it polls for 100 µs after an answer, while that pays), and is asked "
    "the very bytes that MLServer is asked: JSON; binary "
    "tensors have rows of their own. Beside MiniLM stands what any server must take: a socket alone, in a "
    "program that waits for bytes, runs the session and writes the answer that it wrote before, without "
    "reading what it is asked. A round is one fresh process of each server, in balanced order: first "
    "one client, then 32. Ratios are of medians over the processes, with the 95 % interval by bootstrap. "
    "On MiniLM the processes of a round are all there at once and asked for a second each, in turn, three "
    "times there and back; a round's ratio is the median of its laps', the interval is over the rounds. "
    "CPU time is that of the server's process and of all that it started. A span in which other work took "
    "more than 5 % of the two CPUs is measured again, twice at most, and the quietest counts. Nothing is "
    "claimed where more than half of the spans stayed disturbed, or where MLServer does not come out at 0.3 "
    "to 0.6 of FastAPI's requests a second with one client, as it does elsewhere."
)
KEPT = Path(__file__).resolve().parent / "results" / "serve.trials.jsonl"
RESULT = KEPT.with_name("serve.json")

table = serve_table.table
VIEWS = {"servers": serve_table.servers}


class Size(NamedTuple):
    """How much is measured: `FULL` takes about a quarter of an hour, `QUICK` one."""

    rounds: int  # fresh processes of each server
    laps: int  # in a round, of servers that are there at once
    seconds: float  # of a span under load
    tries: int  # of a span at most, while others disturb it
    idle: float  # seconds


FULL, QUICK = Size(6, 3, 3.0, 3, 20.0), Size(1, 1, 1.0, 1, 2.0)
Skipped = dict[str, str]
"""A part or a server to why there is nothing of it."""


def main(quick: bool, parts: Sequence[str] = ()) -> dict[str, Any]:
    """Measures the parts, all if none is named; parts that were measured before stay as they were."""
    chosen = list(parts or PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        raise SystemExit(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    earlier: dict[str, Any] = {} if quick or not RESULT.exists() else json.loads(RESULT.read_text())["data"]
    trials, skipped = Trials(None if quick else KEPT), Skipped(earlier.get("skipped", {}))
    with two_cpus() as place:
        for name in chosen:
            skipped.pop(name, None)
            try:
                PARTS[name](trials, QUICK if quick else FULL, place, skipped)
            except venvs.Missing as missing:
                skipped[name] = str(missing)
    found = [trial for name in chosen for trial in trials.of(name)]
    trials.forget()
    return {
        "trials": [t for t in earlier.get("trials", []) if t["part"] not in chosen] + found,
        "skipped": skipped,
        "client": load.version(),
        "versions": servers.versions(),
    }


def _mlp(trials: Trials, size: Size, place: Place, skipped: Skipped) -> None:
    """Every server, with one client and with 32."""
    load.must_be_there()
    case = cases.small(place.folder)
    present = [s for s in servers.ALL if _starts(s, case, place, skipped)]
    for turn, side in enumerate(balanced(len(present), size.rounds)):
        server = present[side]
        trials.once("mlp", f"{server.name} {turn}", partial(_served, server, case, place, size))


def _starts(server: Server, case: Case, place: Place, skipped: Skipped) -> bool:
    """Whether it can be had and runs; that once, its files are in the disk's cache from now on."""
    skipped.pop(server.name, None)
    try:
        if server.venv:
            venvs.ready(server.venv)
        with running(server, case, place.server, place.folder):
            return True
    except (venvs.Missing, RuntimeError) as error:
        if not server.venv:
            raise
        skipped[server.name] = str(error).splitlines()[0]
        print(f"{server.name}: skipped, because {error}", flush=True)
        return False


def _served(server: Server, case: Case, place: Place, size: Size) -> Trial:
    with running(server, case, place.server, place.folder) as one:
        c1, c32 = (quietest(partial(loaded, one, n, size.seconds, place), size.tries) for n in (1, 32))
        memory = one.memory()
    print(
        f"{server.name}: ready in {one.start_s:.2f} s, {memory / 1e6:.0f} MB; p50 {c1['p50_us']} µs, "
        f"{c1['per_s']:,.0f}/s; 32 clients: {c32['per_s']:,.0f}/s, {c32['cpu_us']:.0f} µs of CPU each",
        flush=True,
    )
    return {"server": server.name, "c1": c1, "c32": c32, "start_s": one.start_s, "memory_bytes": memory}


def _minilm(trials: Trials, size: Size, place: Place, skipped: Skipped) -> None:
    """One client; beside it the bare session, in a process on the server's CPU."""
    load.must_be_there()
    case = cases.minilm(place.folder)
    asked = (servers.HOTLAP, servers.BINARY, servers.FLOOR, servers.FASTAPI, servers.MLSERVER)
    present = [s for s in asked if _starts(s, case, place, skipped)]
    for turn in range(size.rounds):
        trials.once("minilm", f"{turn}", partial(_in_turn, present, case, place, size))


def _in_turn(present: Sequence[Server], case: Case, place: Place, size: Size) -> Trial:
    """One process of each, all of them there at once, and each asked in turn for a second: a machine changes
    its speed from one second to the next by more than what is looked for."""
    with ExitStack() as stack:
        bare = stack.enter_context(bare_session(case, place.server))
        ours = {s.name: stack.enter_context(running(s, case, place.server, place.folder)) for s in present}
        sides: dict[str, Callable[[], float]] = {serve_table.BARE: lambda: 1e6 * bare.p50(1.0)}
        sides |= {name: partial(_waited, one, place) for name, one in ours.items()}
        for warm in sides.values():
            warm()
        names = list(sides)

        def lap() -> Trial:
            """Every side twice, there and back."""
            watch = Watch(bare, *ours.values())
            found = [(names[side], sides[names[side]]()) for side in balanced(len(names), 2)]
            p50s = {name: float(np.mean([p50 for other, p50 in found if other == name])) for name in names}
            return {"p50s_us": p50s, "foreign": watch.seen()[1]}

        return {"laps": [quietest(lap, size.tries) for _ in range(size.laps)]}


def _waited(one: Running, place: Place) -> float:
    """The p50 of one client, µs, over a second."""
    where = {"cpu": place.client, "folder": place.folder}
    return float(load.load(one.port, one.request, connections=1, seconds=1.0, **where)["p50_us"])


def _shared(trials: Trials, size: Size, place: Place, skipped: Skipped) -> None:
    """Large tensors over HTTP and through shared memory, in turn within one process."""
    case = cases.large(place.folder)
    python = venvs.ready("tritonclient") / "python"

    def timed(one: Running) -> Trial:
        watch = Watch(one)
        given = (one.port, case.name, case.saved_feed(), 2 * size.seconds)
        told = json.loads(said_by(python, place.client, "tensors.py", *given))
        return {**told, "foreign": watch.seen()[1]}

    def measured() -> Trial:
        with running(servers.BINARY, case, place.server, place.folder) as one:
            return quietest(partial(timed, one), size.tries)

    for turn in range(size.rounds):
        trials.once("shared", f"{turn}", measured)


def _idle(trials: Trials, size: Size, place: Place, skipped: Skipped) -> None:
    """After its first request, with nobody to serve."""

    def measured() -> Trial:
        with running(servers.HOTLAP, cases.small(place.folder), place.server, place.folder) as one:
            time.sleep(1.0)
            before, start = one.cpu_s(), time.perf_counter()
            time.sleep(size.idle)
            return {"share": (one.cpu_s() - before) / (time.perf_counter() - start)}

    trials.once("idle", "", measured)


PARTS: dict[str, Callable[[Trials, Size, Place, Skipped], None]] = {
    "mlp": _mlp,
    "minilm": _minilm,
    "shared": _shared,
    "idle": _idle,
}

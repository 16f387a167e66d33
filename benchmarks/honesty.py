"""Does it lie? Models against themselves, planted slowdowns, a noisy neighbour, queues, the harness."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import honesty_table, mlp
from benchmarks.neighbour import busy_neighbour
from benchmarks.queueing import queue
from benchmarks.trials import Trial, Trials
from examples.inputs.models import named
from hotlap.bench import Comparison, Measurement, Target, Workload, compare, measure, save_feeds
from hotlap.bench.arrivals import poisson

CLAIM = (
    "Of 60 comparisons of a model with itself at most 6 claim a difference; a planted slowdown of 10 % is "
    "found in 9 of 10 tries, so is one of 5 %, each within 120 s, and one of 2 % is never called faster; "
    "beside a program that keeps one core busy at most 1 in 10 claims a difference, or the run calls itself "
    "void. An open loop at 70 % of capacity agrees with a simulated queue within 10 %, a stall of 200 ms "
    "shows at its true weight, and the harness adds less than 0.3 µs to a call."
)
METHOD = (
    "Three models: a network of a few microseconds, a sentence encoder in 8 bits, and a captcha reader, the "
    "two on real inputs. A comparison is one `hotlap.compare` of 10 fresh processes a side of 0.3 s (20 "
    "where 5 % is to be found). A slowdown is planted by a caller that busy-waits its share of each call's "
    "own time after it, inside the timed span; the other side has a caller that waits for nothing. The "
    "simulated queue gets the arrivals that were intended and the service times that were recorded; the "
    "stall is planted in a callable of 1 ms a call under 100 requests a second."
)
MODELS = ("mlp", "minilm-int8", "ddddocr")
ROOT = Path(__file__).resolve().parents[1]
KEPT = Path(__file__).resolve().parent / "results" / "honesty.trials.jsonl"
RESULT = KEPT.with_name("honesty.json")

table = honesty_table.table


class Size(NamedTuple):
    """How much is measured: `full` takes about half an hour, `quick` some seconds."""

    itself: int  # comparisons a model
    tries: int  # of each planted slowdown, and beside the neighbour; over all models
    short: Workload
    long: Workload
    open: Workload
    stall: Workload


FULL = Size(
    itself=20,
    tries=10,
    short=Workload(seconds=0.3, warmup=0.1, processes=10),
    long=Workload(seconds=0.3, warmup=0.1, processes=20),
    open=Workload(seconds=6.0, warmup=0.3, processes=6),
    stall=Workload(seconds=10.0, warmup=0.0, processes=2),
)
_LITTLE = Workload(seconds=0.1, warmup=0.02, processes=2)
QUICK = Size(1, 1, _LITTLE, _LITTLE, Workload(seconds=0.5, warmup=0.1, processes=1), FULL.stall)


def main(quick: bool, parts: Sequence[str] = ()) -> dict[str, Any]:
    """Measures the parts, all if none is named; parts that were measured before stay as they were."""
    trials = Trials(None if quick else KEPT)
    size = QUICK._replace(stall=Workload(seconds=5.0, warmup=0.0, processes=1)) if quick else FULL
    chosen = list(parts or PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        raise SystemExit(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    for name in chosen:
        PARTS[name](trials, size)
    found = [trial for name in chosen for trial in trials.of(name)]
    earlier = [] if quick or not RESULT.exists() else json.loads(RESULT.read_text())["data"]["trials"]
    trials.forget()
    return {"trials": [t for t in earlier if t["part"] not in chosen] + found}


def _itself(trials: Trials, size: Size) -> None:
    for name in MODELS:
        with _model(name) as (path, feeds):
            target = Target.default(path, label=name)
            for n in range(size.itself):
                trials.once("itself", f"{name} {n}", lambda: _compared(target, target, size.short, feeds))  # noqa: B023  it is called at once


def _planted(share: float, part: str) -> Callable[[Trials, Size], None]:
    def measured(trials: Trials, size: Size) -> None:
        workload = size.long if part == "planted5" else size.short
        for name, count in _spread(size.tries).items():
            with _model(name) as (path, feeds):
                # Both sides pay for the caller that can wait: on a call of microseconds it shows.
                plain = Target.default(path, label=name, handicap=1e-9)
                slow = Target.default(path, label=f"{name}, {100 * share:g} % slower", handicap=share)
                for n in range(count):
                    trials.once(part, f"{name} {n}", lambda: _compared(plain, slow, workload, feeds))  # noqa: B023  as above

    return measured


def _neighbour(trials: Trials, size: Size) -> None:
    for name, count in _spread(size.tries).items():
        with _model(name) as (path, feeds):
            target = Target.default(path, label=f"{name}, beside a busy program")
            for n in range(count):
                trials.once(
                    "neighbour",
                    f"{name} {n}",
                    lambda: _compared(target, target, size.short, feeds, busy=True),  # noqa: B023  as above
                )


def _spread(tries: int) -> dict[str, int]:
    """So many tries, over the models."""
    return {name: len(range(n, tries, len(MODELS))) for n, name in enumerate(MODELS) if n < tries}


def _compared(a: Target, b: Target, workload: Workload, feeds: Path, busy: bool = False) -> Trial:
    start = time.monotonic()
    with busy_neighbour() if busy else nullcontext():
        found: Comparison = compare(a, b, workload, feeds, until=start + 118)
    word = "void" if found.void else found.verdict
    print(f"{b.label}: {found.ratio:.3f} ({found.low:.3f} to {found.high:.3f}) {word}", flush=True)
    return {
        "model": a.label.partition(",")[0],
        "ratio": round(found.ratio, 4),
        "low": round(found.low, 4),
        "high": round(found.high, 4),
        "verdict": found.verdict,
        "same_within": found.same_within,
        "void": found.void,
        "foreign": None if found.foreign is None else round(found.foreign, 4),
        "p50_s": found.a.p50,
        "processes": len(found.a.processes),
        "seconds": round(time.monotonic() - start, 1),
    }


def _queue(trials: Trials, size: Size) -> None:
    with _model("minilm-int8") as (path, feeds):
        trials.once(
            "queue", "70 %", lambda: _queued(Target.default(path, label="minilm-int8"), size.open, feeds)
        )


def _queued(target: Target, workload: Workload, feeds: Path) -> Trial:
    # Calls that come one by one take longer than calls back to back: the rate follows from the former.
    alone = measure(target, Workload(seconds=0.5, warmup=0.2, processes=3), feeds)
    trial = Workload(seconds=workload.seconds / 2, processes=3, arrivals="poisson", rate=0.5 / alone.mean)
    tried = measure(target, trial, feeds)
    rate = 0.7e9 / float(np.median([p.services_ns.mean() for p in tried.processes]))
    opened = Workload(
        seconds=workload.seconds,
        warmup=workload.warmup,
        processes=workload.processes,
        arrivals="poisson",
        rate=rate,
    )
    found = measure(target, opened, feeds)
    measured = np.concatenate([p.latencies_ns for p in found.processes]) / 1e9
    services = [p.services_ns / 1e9 for p in found.processes]
    simulated = np.concatenate([queue(opened.times(turn), s) for turn, s in enumerate(services)])
    # Other arrivals, and the same service times in an order of chance: what the theory says of such a queue.
    pool = np.concatenate(services)
    rng = np.random.default_rng(0)
    theory = queue(poisson(rate, count=100_000, seed=1), rng.choice(pool, 100_000))
    return {
        "model": target.label,
        "rate": round(rate, 2),
        "busy": round(float(pool.mean() * rate), 4),
        "requests": len(measured),
        "void": found.void,
        "quantiles": {
            f"p{q}": [float(np.percentile(values, q)) for values in (measured, simulated, theory)]
            for q in (50, 95, 99)
        },
    }


def _stall(trials: Trials, size: Size) -> None:
    trials.once("stall", "200 ms", lambda: _stalled(size.stall))


def _stalled(workload: Workload) -> Trial:
    target = Target.calling("benchmarks.targets:stalling", folder=ROOT, label="a stall of 200 ms")
    feeds = [{"x": np.zeros(1, np.float32)}]
    opened = Workload(
        seconds=workload.seconds, warmup=0.0, processes=workload.processes, arrivals="constant", rate=100.0
    )
    found: Measurement = measure(target, opened, feeds)
    measured = np.concatenate([p.latencies_ns for p in found.processes]) / 1e9
    services = np.concatenate([p.services_ns for p in found.processes]) / 1e9
    simulated = np.concatenate(
        [queue(opened.times(turn), p.services_ns / 1e9) for turn, p in enumerate(found.processes)]
    )
    return {
        "requests": len(measured),
        "delayed": int((measured > 0.01).sum()),
        "delayed_simulated": int((simulated > 0.01).sum()),
        "p99_s": float(np.percentile(measured, 99)),
        "p99_simulated_s": float(np.percentile(simulated, 99)),
        "p99_of_calls_s": float(np.percentile(services, 99)),
        "void": found.void,
    }


def _overhead(trials: Trials, size: Size) -> None:
    trials.once("overhead", "no-op", lambda: _no_op(size.short))


def _no_op(workload: Workload) -> Trial:
    target = Target.calling("benchmarks.targets:nothing", folder=ROOT, label="a target that does nothing")
    found = measure(target, workload, [{"x": np.zeros(1, np.float32)}])
    # The whole loop's time, on a target whose own is a Python function that returns.
    period = float(np.median([p.wall_s / p.calls for p in found.processes]))
    said = float(np.median([p.overhead_s or np.nan for p in found.processes]))
    return {"period_s": period, "said_s": said, "p50_s": found.p50, "void": found.void}


@contextmanager
def _model(name: str) -> Iterator[tuple[Path, Path]]:
    """The model's file and a folder of 16 feeds."""
    with tempfile.TemporaryDirectory() as folder:
        if name == "mlp":
            path, feeds = mlp.write(Path(folder) / "mlp.onnx"), mlp.feeds(16)
        else:
            path, feeds = named(name).path.resolve(), named(name).feeds(16)
        yield path, save_feeds(Path(folder) / "feeds", feeds)


PARTS: dict[str, Callable[[Trials, Size], None]] = {
    "overhead": _overhead,
    "queue": _queue,
    "stall": _stall,
    "planted10": _planted(0.10, "planted10"),
    "planted5": _planted(0.05, "planted5"),
    "planted2": _planted(0.02, "planted2"),
    "itself": _itself,
    "neighbour": _neighbour,
}

"""Why a reader might not believe a number: each doubt is one sentence, printed beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hotlap.bench.measurement import Measurement
from hotlap.bench.result import ProcessResult
from hotlap.bench.stats import FEW, Ratio

__all__ = [
    "DISTURBED",
    "VOID",
    "comparison_doubts",
    "disturbed_share",
    "is_disturbed",
    "measurement_doubts",
    "overload_doubt",
    "void_doubt",
]

FEW_CALLS = 20
DISTURBED = 0.05
"""A process is disturbed when others took more than this share of the CPUs that it may use."""
VOID = 0.5
"""With more than this share of disturbed processes a run says nothing."""
STOLEN = 0.01
"""More than this share taken by the hypervisor is worth a sentence of its own."""
SWITCHES = 100.0
"""Involuntary context switches a second; a process that has its CPUs to itself has far fewer."""
FREQUENCY = 0.95
"""The slowest process's frequency against the fastest one's."""
SPEED = 1.4
"""The slowest process's empty loop against the fastest one's, which hardly differ at one speed."""
LATE = 0.05
"""Share of the median latency that the harness itself may be late by."""
KEEPS_UP = 0.97
"""Callers of an open loop that are busy for more than this share of the time do not keep up."""
DRIFT = 1.05
"""Last third against first third: beyond the few per cent that equal processes differ by anyway."""
MACHINE = ("os", "cpu", "cpus", "versions")
"""What of a machine must be the same on both sides; free memory, say, never is."""
GAP = 1.15
"""Two groups of processes further apart than this, each tight within itself, are two modes."""


def is_disturbed(process: ProcessResult) -> bool:
    """Others or the hypervisor took more than `DISTURBED`; False where that is unknown."""
    return (process.disturbance or 0.0) > DISTURBED


def disturbed_share(processes: Sequence[ProcessResult]) -> float:
    """Share (0 to 1) of the processes that were disturbed."""
    return sum(map(is_disturbed, processes)) / len(processes)


def void_doubt(processes: Sequence[ProcessResult]) -> str:
    """Why a run of these processes is void; empty where it is not."""
    share = disturbed_share(processes)
    if share <= VOID:
        return ""
    return f"void: other work disturbed {100 * share:.0f} % of the processes; measure again in quiet"


def measurement_doubts(processes: Sequence[ProcessResult]) -> tuple[str, ...]:
    """The doubts about one side."""
    doubts = [
        _few_processes(processes),
        _few_calls(processes),
        _part_of_the_feeds(processes),
        _disturbed(processes),
        _unknown(processes),
        _stolen(processes),
        _throttled(processes),
        _switched(processes),
        _frequency(processes),
        _speed(processes),
        _late(processes),
        _drift(processes),
        _two_modes(processes),
    ]
    return tuple(d for d in doubts if d)


def comparison_doubts(a: Measurement, b: Measurement, ratio: Ratio) -> tuple[str, ...]:
    """The doubts about both sides, each named after its side, and about the difference itself."""
    doubts = []
    sides = {name: measurement_doubts(m.processes) for name, m in (("baseline", a), ("candidate", b))}
    for doubt in dict.fromkeys([*sides["baseline"], *sides["candidate"]]):
        where = [name for name, found in sides.items() if doubt in found]
        doubts.append(doubt if len(where) == 2 else f"{where[0]}: {doubt}")
    differs = [key for key in MACHINE if a.machine.get(key) != b.machine.get(key)]
    if differs:
        doubts.append(f"the two sides were measured on different machines: {', '.join(differs)} differ")
    doubts += [
        f"{name}: {told}" for name, m in (("baseline", a), ("candidate", b)) if (told := overload_doubt(m))
    ]
    if a.workload != b.workload:
        doubts.append("the two sides were measured under different workloads")
    if _noise_hides(ratio):
        span = f"{ratio.value:.3f} within {ratio.low:.3f} to {ratio.high:.3f}"
        doubts.append(f"the noise is larger than the difference: {span}")
    return tuple(doubts)


def overload_doubt(measurement: Measurement) -> str:
    """Whether the target does not keep up with an open loop; empty where it does."""
    workload = measurement.workload
    if not workload.open:
        return ""
    busy = [p.services_ns.sum() / 1e9 / (workload.concurrency * p.wall_s) for p in measurement.processes]
    middle = float(np.median(busy))
    if middle <= KEEPS_UP:
        return ""
    return (
        f"it does not keep up: its callers were busy for {100 * middle:.0f} % of the time, "
        "so latency grows with the seconds measured"
    )


def _few_processes(processes: Sequence[ProcessResult]) -> str:
    if len(processes) >= FEW:
        return ""
    count = "1 process" if len(processes) == 1 else f"{len(processes)} processes"
    are = "is" if len(processes) == 1 else "are"
    return (
        f"only {count} a side {are} too few for a 95 % interval, so it is the whole range "
        "seen (10 to 12 are wanted)"
    )


def _few_calls(processes: Sequence[ProcessResult]) -> str:
    fewest = min(p.calls for p in processes)
    if fewest >= FEW_CALLS:
        return ""
    return f"only {fewest} calls in a process (at least {FEW_CALLS} are wanted): give each more seconds"


def _part_of_the_feeds(processes: Sequence[ProcessResult]) -> str:
    worst = min(processes, key=lambda p: p.calls / p.feeds)
    if worst.calls >= worst.feeds:
        return ""
    return f"a process got through {worst.calls} of {worst.feeds} inputs only: give each more seconds"


def _disturbed(processes: Sequence[ProcessResult]) -> str:
    count = sum(map(is_disturbed, processes))
    if not count:
        return ""
    worst = max(p.disturbance or 0.0 for p in processes)
    return (
        f"other work took more than {100 * DISTURBED:.0f} % of the CPUs "
        f"in {count} of {len(processes)} processes (up to {100 * worst:.0f} %)"
    )


def _unknown(processes: Sequence[ProcessResult]) -> str:
    if any(p.foreign is not None for p in processes):
        return ""
    return (
        "what other work took of the CPUs is unknown: this system does not say, "
        "or the processes were too short"
    )


def _stolen(processes: Sequence[ProcessResult]) -> str:
    worst = max(p.steal or 0.0 for p in processes)
    if worst <= STOLEN:
        return ""
    return f"the hypervisor gave CPU time to other machines (steal, up to {100 * worst:.0f} % in a process)"


def _switched(processes: Sequence[ProcessResult]) -> str:
    middle = float(np.median([(p.switches or 0) / p.wall_s for p in processes]))
    if middle <= SWITCHES:
        return ""
    return f"the processes had to wait for a CPU {middle:,.0f} times a second (involuntary context switches)"


def _frequency(processes: Sequence[ProcessResult]) -> str:
    known = [p.mhz for p in processes if p.mhz]
    if not known or min(known) >= FREQUENCY * max(known):
        return ""
    return f"the CPUs' frequency changed between processes: {min(known):,.0f} to {max(known):,.0f} MHz"


def _speed(processes: Sequence[ProcessResult]) -> str:
    """A virtual machine hides the frequency, and who else is on its cores; an empty loop shows both."""
    known = [p.overhead_s for p in processes if p.overhead_s]
    if not known or max(known) <= SPEED * min(known):
        return ""
    return (
        f"the machine's own speed changed between processes: an empty loop took up to "
        f"{max(known) / min(known):.1f} times as long in one as in another"
    )


def _late(processes: Sequence[ProcessResult]) -> str:
    late = float(np.median([p.late_s or 0.0 for p in processes]))
    p50 = float(np.median([p.p50 for p in processes]))
    if late <= LATE * p50:
        return ""
    return (
        f"calls began {late * 1e6:.0f} µs late although a caller was free, "
        f"which is {100 * late / p50:.0f} % of p50: the timer of this system is no finer"
    )


def _throttled(processes: Sequence[ProcessResult]) -> str:
    count = sum((p.throttled or 0) > 0 for p in processes)
    return f"the CPU quota throttled {count} of {len(processes)} processes" if count else ""


def _drift(processes: Sequence[ProcessResult]) -> str:
    third = len(processes) // 3
    if third < 2:
        return ""
    in_order = sorted(processes, key=lambda p: p.order)
    first, last = (np.median([p.p50 for p in part]) for part in (in_order[:third], in_order[-third:]))
    change = last / first
    if 1 / DRIFT < change < DRIFT:
        return ""
    word = "slower" if change > 1 else "faster"
    return (
        f"it drifted: the last third of the processes is {100 * abs(change - 1):.0f} % {word} than the first"
    )


def _two_modes(processes: Sequence[ProcessResult]) -> str:
    """Two groups, each at least a quarter of the processes, with a gap wider than either group."""
    p50 = np.sort([p.p50 for p in processes])
    least = max(2, len(p50) // 4)
    if len(p50) < 2 * least:
        return ""
    cut = least + int(np.argmax(np.diff(p50)[least - 1 : len(p50) - least]))
    low, high = p50[:cut], p50[cut:]
    gap, widest = high[0] / low[-1], max(low[-1] / low[0], high[-1] / high[0])
    if gap < GAP or gap < widest:
        return ""
    return (
        f"the processes fall into two groups: {len(low)} around {np.median(low) * 1e3:.3g} ms, "
        f"{len(high)} around {np.median(high) * 1e3:.3g} ms"
    )


def _noise_hides(ratio: Ratio) -> bool:
    gain = abs(float(np.log(ratio.value)))
    width = float(np.log(ratio.high / ratio.low)) / 2
    return width > max(gain, 0.02)

"""`Machine`: whatever can explain a number that was measured here."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

import msgspec

from hotlap.cpus import CpuBudget, cpu_budget, read_text
from hotlap.machine.cpuinfo import Processor, processor
from hotlap.machine.environment import EnvNote, environment
from hotlap.machine.findings import findings_of
from hotlap.machine.gpus import Gpu, gpus, gpus_by_files
from hotlap.machine.memory import Memory, memory
from hotlap.machine.onnxruntime import OnnxRuntime, onnxruntime_here
from hotlap.machine.providers import ProviderReport, provider_reports
from hotlap.machine.versions import versions

__all__ = ["Machine"]

_HERE = Path("/")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """One machine as this process sees it.

    Attributes:
        os: the operating system, e.g. "Debian GNU/Linux 12, Linux 6.1.0-18-amd64 x86_64".
        cpu: the processor.
        cpus: how many threads may run, and why.
        memory: sizes in bytes.
        gpus: every GPU found.
        versions: name → version of what is installed.
        onnxruntime: what became of importing it; None: not tried (`brief`).
        providers: what each provider does here; () where it was not tried.
        environment: variables that are set and matter, or seem to.
        findings: what is wrong and what to do, one line each.
    """

    os: str
    cpu: Processor
    cpus: CpuBudget
    memory: Memory
    gpus: tuple[Gpu, ...]
    versions: dict[str, str]
    onnxruntime: OnnxRuntime | None = None
    providers: tuple[ProviderReport, ...] = ()
    environment: tuple[EnvNote, ...] = ()
    findings: tuple[str, ...] = ()

    @classmethod
    def here(cls, root: Path = _HERE) -> Machine:
        """Everything; about a second, since child processes import onnxruntime and try every provider.

        Args:
            root: where ``/proc`` and ``/sys`` hang; another folder holds a recorded machine, whose libraries
                and variables are still this one's.
        """
        machine, ort = cls.brief(root), onnxruntime_here()
        gpu = gpus(root) if root == _HERE else machine.gpus
        providers = provider_reports(ort, root)
        findings = findings_of(machine.cpu, machine.cpus, gpu, ort, providers, machine.environment)
        return msgspec.structs.replace(
            machine, gpus=gpu, onnxruntime=ort, providers=providers, findings=findings
        )

    @classmethod
    def brief(cls, root: Path = _HERE) -> Machine:
        """What a measurement records: quick, no child process, nothing imported, no provider tried."""
        return cls(
            os=_operating_system(root),
            cpu=processor(root),
            cpus=cpu_budget(root),
            memory=memory(root),
            gpus=gpus_by_files(root),
            versions=versions(),
            environment=environment(),
        )

    def table(self) -> dict[str, Any]:
        """As plain JSON values, which is what a saved measurement keeps of it."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain

    @property
    def label(self) -> str:
        """One line for headings: ``AMD EPYC, 2 of 2 CPUs, onnxruntime 1.32.0``."""
        may = self.cpus.affinity or self.cpus.logical
        ort = next(
            (f"{n} {v}" for n, v in self.versions.items() if n.startswith("onnxruntime")), "no onnxruntime"
        )
        return f"{self.cpu.model}, {may} of {self.cpus.logical} CPUs, {ort}"


def _operating_system(root: Path) -> str:
    kernel = f"{platform.system()} {platform.release()} {platform.machine()}"
    release = read_text(root / "etc/os-release") or ""
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', release, re.MULTILINE)
    return f"{found.group(1)}, {kernel}" if found else kernel

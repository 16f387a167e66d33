"""The machine: cores, quota, instruction sets, memory, GPUs, versions, and the providers that really load."""

from __future__ import annotations

from hotlap.machine.cpuinfo import Processor
from hotlap.machine.describe import Machine
from hotlap.machine.environment import EnvNote
from hotlap.machine.gpus import Gpu
from hotlap.machine.memory import Memory
from hotlap.machine.onnxruntime import OnnxRuntime
from hotlap.machine.providers import ProviderReport

__all__ = ["EnvNote", "Gpu", "Machine", "Memory", "OnnxRuntime", "Processor", "ProviderReport"]

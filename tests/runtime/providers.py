"""Stand-ins for execution providers, so that a machine with none but the CPU can test the chain."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

from hotlap.providers import Provider


class Azure(Provider, frozen=True):
    """In every onnxruntime wheel for the CPU: it loads, and takes no node of a usual model."""

    name: ClassVar[str] = "azure"
    ort_name: ClassVar[str] = "AzureExecutionProvider"
    install: ClassVar[str] = "nothing"


def session(providers: list[str], **nodes: list[str]) -> Any:
    """A session that says it has those providers, with operators on each: ``cuda=["Conv"]``."""
    parts = [
        SimpleNamespace(
            ep_name=name,
            get_nodes=lambda ops=ops: [SimpleNamespace(op_type=op, domain="", name="") for op in ops],
        )
        for name, ops in nodes.items()
    ]
    return SimpleNamespace(get_providers=lambda: providers, get_provider_graph_assignment_info=lambda: parts)


def device(ep_name: str, kind: str) -> Any:
    """A device as ORT describes it."""
    hardware = SimpleNamespace(type=SimpleNamespace(name=kind))
    return SimpleNamespace(ep_name=ep_name, ep_vendor="Test", device=hardware)

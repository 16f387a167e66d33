"""The chain of execution providers: which of those asked for are used, and why the others are not.

ORT drops a provider that does not load, and runs on the CPU whatever a provider does not take; both in
silence. Here each provider that is not used is named with its reason, and the CPU runs nodes only where it
was asked for.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hotlap.errors import ProviderUnavailable
from hotlap.providers import PROVIDERS, Provider
from hotlap.runtime import ort
from hotlap.runtime.loading import provider_status, reason_not_to_try

__all__ = ["Assigned", "Placed", "assigned", "place"]

log = logging.getLogger("hotlap.runtime")

Chain = Sequence[type[Provider]]

_MODEL_AT_FAULT = frozenset({"InvalidProtobuf", "InvalidGraph", "NoSuchFile", "NoModel"})
"""Exceptions of ORT that blame the model file, whichever provider was asked for."""
_WEIGHTS_AT_FAULT = ("External data", "External initializer", "cannot get file size")
"""What ORT says of files of external weights, old versions last."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A session, the number of nodes on each provider (short names), and why others are not used."""

    session: Any
    placement: dict[str, int]
    notes: tuple[str, ...]


class Assigned(NamedTuple):
    """One node as ORT assigned it: its operator's domain ("" is ONNX's own), its operator and its name."""

    domain: str
    op: str
    name: str


def assigned(session: Any) -> dict[str, list[Assigned]]:
    """Short provider name to its nodes, as ORT recorded the assignment when it built the session."""
    short = {p.ort_name: p.name for p in PROVIDERS.values()}
    found: dict[str, list[Assigned]] = {}
    for part in session.get_provider_graph_assignment_info():
        nodes = found.setdefault(short.get(part.ep_name, part.ep_name), [])
        nodes += [Assigned(node.domain, node.op_type, _name(node)) for node in part.get_nodes()]
    return found


def _name(node: Any) -> str:
    """A model may name its nodes in bytes that are no text; ORT does not mind, its Python half does."""
    try:
        return str(node.name)
    except UnicodeDecodeError:
        return ""


def place(create: Callable[[Chain], Any], chain: Chain, where: str) -> Placed:
    """The session of the first providers of the chain that load and take nodes.

    Args:
        create: builds a session with the providers given, in their order; the session must record its node
            assignment.
        chain: what was asked for, first choice first.
        where: the model, for messages.

    Raises:
        ProviderUnavailable: nothing of the chain runs the model, or the CPU would have to run some of it
            without being part of the chain.
        ModelError: ORT does not load the model.
    """
    session, used, notes = _first_that_load(create, chain, where)
    nodes = _nodes(session)
    names = [p.name for p in used]
    ordered = [*(n for n in names if n in nodes), *(n for n in nodes if n not in names)]
    placement = {name: sum(nodes[name].values()) for name in ordered}
    if "cpu" in nodes and all(p.name != "cpu" for p in used):
        raise _cpu_not_asked_for(nodes, used, notes, where)
    total = sum(placement.values())
    idle = [p.name for p in used if p.name != "cpu" and p.name not in nodes and total]
    notes += [f"{name} not used: it loads, but takes none of the model's {total} nodes" for name in idle]
    for note in notes:
        log.warning("%s: %s", where, note)
    log.info("%s: nodes by provider: %s", where, placement)
    return Placed(session, placement or {used[0].name: 0}, tuple(notes))


def _first_that_load(
    create: Callable[[Chain], Any], chain: Chain, where: str
) -> tuple[Any, list[type[Provider]], list[str]]:
    reasons = {p: reason_not_to_try(p) for p in chain}
    left = [p for p in chain if not reasons[p]]
    notes = [f"{p.name} not used: {reason}" for p, reason in reasons.items() if reason]
    while left:
        try:
            session = create(left)
        except ort.raised() as error:
            refusing = _to_blame(left, error)
            if refusing is None:
                raise ort.load_error(error, where) from error
            left.remove(refusing)
            notes.append(_why(refusing, ort.clear_line(str(error))))
            continue
        got = session.get_providers()
        dropped = [p for p in left if p.ort_name not in got]
        notes += [_why(p, "ONNX Runtime left it out of the session") for p in dropped]
        left = [p for p in left if p not in dropped]
        if left:
            return session, left, notes
    raise ProviderUnavailable(f"{where}: {'; '.join(notes)}{_offer_cpu(chain)}")


def _to_blame(providers: Chain, error: Exception) -> type[Provider] | None:
    """The provider because of which no session could be built; None where it is the model."""
    accelerators = [p for p in providers if p.name != "cpu"]
    model_at_fault = type(error).__name__ in _MODEL_AT_FAULT or any(
        w in str(error) for w in _WEIGHTS_AT_FAULT
    )
    if not accelerators or model_at_fault:
        return None
    return next((p for p in accelerators if not provider_status(p.name).loads), accelerators[0])


def _why(provider: type[Provider], otherwise: str) -> str:
    status = provider_status(provider.name)
    if status.loads:
        return f"{provider.name} not used: it loads, but does not take this model: {otherwise}"
    return f"{provider.name} not used: {status.reason}: {status.remedy}"


def _nodes(session: Any) -> dict[str, Counter[str]]:
    """Short provider name to its nodes' operator types."""
    return {name: Counter(node.op for node in nodes) for name, nodes in assigned(session).items()}


def _cpu_not_asked_for(
    nodes: dict[str, Counter[str]], used: Chain, notes: Sequence[str], where: str
) -> ProviderUnavailable:
    ops = nodes["cpu"]
    total = sum(sum(o.values()) for o in nodes.values())
    first = ", ".join(f"{count} {op}" if count > 1 else op for op, count in ops.most_common(5))
    more = ", …" if len(ops) > 5 else ""
    names = ", ".join(p.name for p in used)
    before = "".join(f"; {note}" for note in notes)
    return ProviderUnavailable(
        f"{where}: {names} does not take {sum(ops.values())} of {total} nodes ({first}{more}), and the CPU "
        f"was not asked for{before}{_offer_cpu(used)}"
    )


def _offer_cpu(chain: Chain) -> str:
    if any(p.name == "cpu" for p in chain):
        return ""
    return f"; to allow the CPU, ask for {','.join(p.name for p in chain)},cpu"

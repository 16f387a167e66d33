"""Conv and an activation: ORT applies it while the convolution's result is still at hand."""

from __future__ import annotations

from collections.abc import Iterator

from hotlap.inspect.fusions.blockers import Blocked, along, not_constant
from hotlap.inspect.fusions.graph import Graph, Step
from hotlap.inspect.fusions.pattern import before
from hotlap.inspect.fusions.running import Running

__all__ = ["ACTIVATIONS", "conv_activation"]

ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Clip")
"""What ``com.microsoft.FusedConv`` knows on the CPU."""


def conv_activation(run: Running) -> Iterator[Blocked]:
    """Activations that still follow a convolution as steps of their own.

    A gate is left out: ``c * sigmoid(c)`` needs both values, so nothing is in the way of a fusion there.
    """
    graph = run.executed
    for activation in graph.nodes(*ACTIVATIONS):
        link = before(graph, activation, 0, ("Conv",))
        if link is None or _gate(graph, link.made, activation):
            continue
        conv, acting = run.node(link.made), run.node(activation)
        if conv is None or acting is None:
            continue
        limits = activation.inputs[1:] if activation.op == "Clip" else ()
        found = (*along(graph, [link]), *not_constant(graph, activation.scope, limits))
        yield Blocked(conv, f"{conv.label} and {acting.label}", found, 2 + len(link.crossed))


def _gate(graph: Graph, conv: Step, activation: Step) -> bool:
    after = graph.readers(activation)
    return any(reader in after for reader in graph.readers(conv))

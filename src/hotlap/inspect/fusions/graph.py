"""A graph as fusing sees it: steps, without the nodes that only pass a value on.

`Graph` reads a file's graph and the one that ORT executes alike. In the executed one, ORT's blocked
convolutions (``com.microsoft.nchwc.Conv``) are told in ONNX's words, and the nodes that ORT put in (changes
of layout, casts around operators that have no kernel for half precision) are looked through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hotlap.model.walk import Node, Scope, Walk

__all__ = ["FUSED_CONV", "HALF", "Graph", "Step"]

_NCHWC = "com.microsoft.nchwc."
_PASSES = frozenset({"Identity", f"{_NCHWC}ReorderInput", f"{_NCHWC}ReorderOutput"})
HALF = "InsertedPrecisionFreeCast_"
"""How ORT names what it computes in float32 where the file asks for half precision."""
FUSED_CONV = "com.microsoft.FusedConv"


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A node that computes. Equal only to itself.

    Attributes:
        node: the node itself.
        op: its operator in ONNX's words.
        inputs: the values that it reads, where they were made; "" for what is left out.
        value: the name of its first result, in the file's words.
        half: the file asks for half precision, and ORT computes in float32 between casts.
        label: where it is, for people; what is no node of the file is told by what it makes.
    """

    node: Node
    op: str
    inputs: tuple[str, ...]
    value: str
    half: bool
    label: str

    @property
    def output(self) -> str:
        """The name of its first result in its own graph."""
        return self.node.outputs[0]

    @property
    def scope(self) -> Scope:
        return self.node.scope


class Graph:
    """The steps of a model.

    Args:
        walk: the file's graph or the executed one.
        file: the file's graph, where `walk` is the executed one.
    """

    def __init__(self, walk: Walk, file: Walk | None = None) -> None:
        self.walk = walk
        self._named = {(n.op, n.proto.name) for n in (file or walk).nodes()}
        self._valued = {v for n in (file or walk).nodes() for v in n.outputs}
        self._passing = {id(n) for n in walk.nodes() if _passes(n)}
        self.steps: tuple[Step, ...] = tuple(
            self._step(n) for n in walk.nodes() if n.outputs and id(n) not in self._passing
        )
        self._of = {id(step.node): step for step in self.steps}

    def nodes(self, *ops: str) -> Iterator[Step]:
        """The steps of some operators."""
        return (step for step in self.steps if step.op in ops)

    def source(self, scope: Scope, value: str) -> str:
        """The name under which a value was made, behind the nodes that pass it on."""
        maker = self.walk.maker(scope, value)
        while maker is not None and id(maker) in self._passing:
            scope, value = maker.scope, maker.inputs[0]
            maker = self.walk.maker(scope, value)
        return value

    def maker(self, scope: Scope, value: str) -> Step | None:
        """The step that makes a value; None for inputs and weights."""
        maker = self.walk.maker(scope, self.source(scope, value))
        return None if maker is None else self._of.get(id(maker))

    def readers(self, step: Step) -> list[Step]:
        """The steps that read a step's first result, each once."""
        found = self.behind(step.scope, step.output)
        return list(dict.fromkeys(self._of[id(n)] for n in found if id(n) in self._of))

    def behind(self, scope: Scope, value: str) -> Iterator[Node]:
        """The nodes that read a value, under whatever name, each as often as it reads it."""
        return (n for inner, name in self._names(scope, value) for n in self.walk.readers(inner, name))

    def is_output(self, step: Step) -> str:
        """The name under which a graph gives a step's first result out; "" where none does."""
        names = self._names(step.scope, step.output)
        return next((name for scope, name in names if self.walk.is_output(scope, name)), "")

    def _names(self, scope: Scope, value: str) -> list[tuple[Scope, str]]:
        """The names of a value, those behind nodes that pass it on included."""
        names = [(scope, value)]
        for scope, value in names:  # it grows while it is read
            passing = (n for n in self.walk.readers(scope, value) if id(n) in self._passing)
            names += [(n.scope, n.outputs[0]) for n in passing]
        return names

    def _step(self, node: Node) -> Step:
        inputs = tuple(self.source(node.scope, v) if v else "" for v in node.inputs)
        op, value = _in_onnx_words(node)
        half = any(v.startswith(HALF) for v in (*node.inputs, *node.outputs))
        value = value.removeprefix(HALF)
        if value not in self._valued:
            behind = (name for _, name in self._names(node.scope, node.outputs[0]) if name in self._valued)
            value = next(behind, value)
        return Step(node, op, inputs, value, half, self._label(node, op, value))

    def _label(self, node: Node, op: str, value: str) -> str:
        if (node.op, node.proto.name) in self._named and (node.proto.name or value == node.outputs[0]):
            return node.label
        short = op.rpartition(".")[2]
        if value in self._valued:
            return f'{node.scope.path}the {short} that makes "{value}"'
        return f"{node.scope.path}a {short} of the executed graph"


def _passes(node: Node) -> bool:
    op = node.op
    if op in _PASSES:
        return bool(node.inputs and node.outputs) and not node.attribute("channels_last", 0)
    return op == "Cast" and node.proto.name.startswith(HALF)


def _in_onnx_words(node: Node) -> tuple[str, str]:
    """The operator and the file's name of the result.

    ORT names a blocked convolution after the value that it makes: ``<value>_nchwc``; and
    ``<value>_bn_nchwc``, ``<value>_mul_nchwc`` where it stands for a normalisation or a multiplication.
    """
    value = node.outputs[0]
    if node.op in _PASSES:
        return "Transpose", value  # a change of layout that takes a Transpose of the file in
    if node.op != f"{_NCHWC}Conv":
        return node.op, value
    value = node.proto.name.rpartition("_nchwc")[0] or value
    if node.attribute("activation") is not None or len(node.inputs) > 3:
        return FUSED_CONV, value
    for ending, op in (("_bn", "BatchNormalization"), ("_mul", "Mul")):
        if value.endswith(ending) and len(node.inputs) > 1 and not _from_file(node, value):
            return op, value.removesuffix(ending)
    return "Conv", value


def _from_file(node: Node, value: str) -> bool:
    """Whether the value's name is the file's own: then it is still made somewhere in the graph."""
    return value in node.scope.makers

"""The file's graph beside the one that ORT executes: `Running`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hotlap.inspect.case import Case
from hotlap.inspect.dims import Dims
from hotlap.inspect.fusions.graph import Graph, Step
from hotlap.inspect.fusions.shapes import Shapes
from hotlap.model.walk import ONNX, Node, Scope, Walk

__all__ = ["Running", "running"]

_FOLDED = frozenset({"Add", "Mul", "BatchNormalization", "Sub", "Div"})
"""What ORT folds into a convolution's weights: the step's result is then named after the last of them."""


@dataclass(frozen=True, eq=False)
class Running:
    """Two graphs of one model.

    Attributes:
        file: as the file has it.
        executed: as ORT runs it.
    """

    file: Walk
    executed: Graph

    @cached_property
    def opset(self) -> int:
        """Of ONNX's own domain, in the file."""
        return next((o.version for o in self.file.model.opset_import if o.domain in ONNX), 1)

    @cached_property
    def source(self) -> Graph:
        """The file's graph as steps."""
        return Graph(self.file)

    @cached_property
    def _shapes(self) -> Shapes:
        return Shapes(self.file)

    @cached_property
    def _scopes(self) -> dict[str, Scope]:
        return {scope.path: scope for scope in self.file.scopes}

    @cached_property
    def _by_name(self) -> dict[tuple[str, str, str], list[Node]]:
        found: dict[tuple[str, str, str], list[Node]] = {}
        for node in self.file.nodes():
            if node.proto.name:
                found.setdefault((node.scope.path, node.op, node.proto.name), []).append(node)
        return found

    def scope(self, executed: Scope) -> Scope | None:
        """The file's graph that became an executed one; None for what ORT put in."""
        return self._scopes.get(executed.path)

    def shape(self, scope: Scope, value: str) -> Dims | None:
        """The shape of a value of the executed graph, as far as the file tells."""
        home = self.scope(scope)
        return None if home is None else self._shapes.of(home, value)

    def node(self, step: Step) -> Node | None:
        """The file's node that a step of the executed graph stands for; None for what ORT put in."""
        home = self.scope(step.scope)
        if home is None:
            return None
        made = home.makers.get(step.value)
        if made is None:
            return self._nameless(home, step)
        while made is not None and made.op != step.op and made.op in {*_FOLDED, "Identity"}:
            made = next((m for v in made.inputs if (m := home.makers.get(v)) and m.op != "Constant"), None)
        return made if made is not None and made.op == step.op else None

    def _nameless(self, home: Scope, step: Step) -> Node | None:
        """In a blocked layout the value's name is gone: the node's own tells, or what it reads."""
        same = self._by_name.get((home.path, step.op, step.node.proto.name), [])
        if not same and step.inputs and not step.node.proto.name:
            maker = self.executed.maker(step.scope, step.inputs[0])
            read = self.source.behind(home, maker.value if maker else step.inputs[0])
            same = [node for node in dict.fromkeys(read) if node.op == step.op]
        return same[0] if len(same) == 1 else None

    def still_runs(self, step: Step) -> bool:
        """Whether a step of the file's graph is executed on its own."""
        return (step.scope.path, step.op, step.value) in self._run

    def made_by(self, scope: Scope, value: str) -> str:
        """The operator that makes a value of the file in the executed graph; "" where none does."""
        return self._makers.get((scope.path, value), "")

    @cached_property
    def _makers(self) -> dict[tuple[str, str], str]:
        return {(s.scope.path, s.value): s.op for s in self.executed.steps}

    @cached_property
    def _run(self) -> frozenset[tuple[str, str, str]]:
        return frozenset((s.scope.path, s.op, s.value) for s in self.executed.steps)


def running(case: Case) -> Running | None:
    """Both graphs, where what ORT executes here tells something of what is judged.

    It does not where it was not to be had, where another version of ORT is judged, and where another provider
    than the CPU's runs the model: each provider fuses by rules of its own.
    """
    if case.ran is None or case.ran.executed is None or case.runtime.named:
        return None
    if set(case.runtime.providers) != {"cpu"}:
        return None
    return Running(case.walk, Graph(case.ran.executed, case.walk))

"""What differs between two models, in one value: `Difference`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hotlap.model.anatomy import Anatomy
from hotlap.model.walk import Node, Walk
from hotlap.model.weights import WeightStats
from hotlap.model.wiring import node_changes
from hotlap.plan import External
from hotlap.tensors import TensorSpec

__all__ = ["Change", "Difference", "diff"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not the same.

    Attributes:
        name: of the thing.
        before, after: what it is in the first model and in the second; None: it is not in there.
    """

    name: str
    before: str | int | None
    after: str | int | None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two models. Each group is empty where nothing does.

    Attributes:
        before, after: the files.
        identical: they and their external weights are the same byte for byte.
        inputs, outputs: of the signature, with their places where only the order differs.
        file: opset, IR version, producer, metadata, size.
        operators: by their number of nodes.
        functions: by their number of nodes.
        nodes: attributes, what a node reads and what an output is made of; nodes with the same change are one
            change. Names of nodes and of inner values, and the order of nodes, do not count.
        weights: stored tensors by element type, shape and digest of their values.
        renamed: weight of the first model to the name that the same values have in the second.
        cost: what a call costs.
        external: files of external weights, by size and digest.
        findings_came, findings_went: findings about the second model alone, and about the first alone; left
            empty here.
    """

    before: str
    after: str
    identical: bool
    inputs: tuple[Change, ...] = ()
    outputs: tuple[Change, ...] = ()
    file: tuple[Change, ...] = ()
    operators: tuple[Change, ...] = ()
    functions: tuple[Change, ...] = ()
    nodes: tuple[Change, ...] = ()
    weights: tuple[Change, ...] = ()
    renamed: dict[str, str] = {}
    cost: tuple[Change, ...] = ()
    external: tuple[Change, ...] = ()
    findings_came: tuple[Any, ...] = ()
    findings_went: tuple[Any, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether nothing that is told here differs, except the size of the file."""
        groups = (self.inputs, self.outputs, self.operators, self.functions, self.nodes, self.weights)
        more = (self.renamed, self.cost, self.external, self.findings_came, self.findings_went)
        return not any((*groups, *more)) and all(c.name == "size" for c in self.file)


def diff(
    a: Anatomy,
    b: Anatomy,
    weights_a: Iterable[WeightStats] = (),
    weights_b: Iterable[WeightStats] = (),
    walks: tuple[Walk, Walk] | None = None,
) -> Difference:
    """Compares two models.

    Args:
        a, b: their anatomies.
        weights_a, weights_b: their weights in numbers; without, weights are not compared one by one.
        walks: over both; without, nodes are only counted.
    """
    weights, renamed = _weights({w.name: w for w in weights_a}, {w.name: w for w in weights_b})
    return Difference(
        before=a.path,
        after=b.path,
        identical=a.digest == b.digest and a.external == b.external,
        inputs=_specs(a.inputs, b.inputs),
        outputs=_specs(a.outputs, b.outputs),
        file=_changes(_file(a), _file(b)),
        operators=_changes(a.operators, b.operators),
        functions=_changes(a.functions, b.functions),
        nodes=() if walks is None else tuple(_nodes(*walks, renamed)),
        weights=weights,
        renamed=renamed,
        cost=_changes(_cost(a), _cost(b)),
        external=_changes(_files(a.external), _files(b.external)),
    )


def _changes(before: Mapping[str, str | int], after: Mapping[str, str | int]) -> tuple[Change, ...]:
    return tuple(
        Change(name=name, before=before.get(name), after=after.get(name))
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    )


def _specs(before: Sequence[TensorSpec], after: Sequence[TensorSpec]) -> tuple[Change, ...]:
    changes = _changes({s.name: s.label for s in before}, {s.name: s.label for s in after})
    if changes or [s.name for s in before] == [s.name for s in after]:
        return changes
    return _changes({s.name: i for i, s in enumerate(before)}, {s.name: i for i, s in enumerate(after)})


def _nodes(a: Walk, b: Walk, renamed: Mapping[str, str]) -> Iterator[Change]:
    """Changes of nodes, each once, with the number of nodes that have it."""
    groups: dict[tuple[str, str, str | None, str | None], list[Node]] = {}
    for node, what, before, after in node_changes(a, b, renamed):
        groups.setdefault((node.op, what, before, after), []).append(node)
    for (op, what, before, after), nodes in groups.items():
        first = nodes[0].label
        name = first if len(nodes) == 1 else f"{len(nodes):,} {op}, first {first}"
        yield Change(name=f"{name}: {what}" if what else name, before=before, after=after)


def _file(a: Anatomy) -> dict[str, str | int]:
    return {
        **{f"opset {domain or 'ai.onnx'}": version for domain, version in a.opset.items()},
        "IR version": a.ir_version,
        "producer": a.producer,
        "size": a.size,
        **{f"metadata {key}": value for key, value in a.metadata.items()},
    }


def _cost(a: Anatomy) -> dict[str, str | int]:
    if a.cost is None:
        return {}
    macs, nbytes = a.cost.macs, a.cost.nbytes
    return {
        "multiply-adds": "unknown" if macs is None else str(macs),
        "bytes": "unknown" if nbytes is None else str(nbytes),
    }


def _files(files: Mapping[str, External | None]) -> dict[str, str | int]:
    return {
        n: "not readable" if f is None else f"{f.size:,} bytes, {f.digest[:19]}" for n, f in files.items()
    }


def _weights(
    before: Mapping[str, WeightStats], after: Mapping[str, WeightStats]
) -> tuple[tuple[Change, ...], dict[str, str]]:
    """What changed, came and went; and what only has another name."""
    gone = [w for name, w in before.items() if name not in after]
    new = {w.digest: w.name for name, w in after.items() if name not in before and w.digest}
    renamed: dict[str, str] = {}
    for weight in gone:
        name = new.pop(weight.digest, None)
        if name is not None:
            renamed[weight.name] = name
    left = {*renamed, *renamed.values()}
    changes = _weight_changes(before, after)
    return tuple(c for c in changes if c.name not in left), renamed


def _weight_changes(before: Mapping[str, WeightStats], after: Mapping[str, WeightStats]) -> Iterator[Change]:
    for name in {**before, **after}:
        one, other = before.get(name), after.get(name)
        if one is None or other is None or (one.digest, _label(one)) != (other.digest, _label(other)):
            same_kind = one is not None and other is not None and _label(one) == _label(other)
            yield Change(name=name, before=_told(one, same_kind), after=_told(other, same_kind))


def _told(weight: WeightStats | None, with_digest: bool) -> str | None:
    if weight is None:
        return None
    return f"{_label(weight)} {weight.digest[:15] or 'not readable'}" if with_digest else _label(weight)


def _label(weight: WeightStats) -> str:
    return f"{weight.dtype}[{', '.join(map(str, weight.shape))}]"

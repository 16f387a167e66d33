"""What a model is made of, in one value: `Anatomy`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from hotlap.model.cost import Cost
from hotlap.model.model import Model
from hotlap.model.sizes import dtype_of, elements, stored_bytes
from hotlap.model.stored import stored
from hotlap.model.walk import Walk
from hotlap.plan import External
from hotlap.tensors import TensorSpec

__all__ = ["Anatomy", "Held", "anatomy"]


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The stored tensors of one element type.

    Attributes:
        tensors: how many.
        elements: of all of them together.
        nbytes: what those take, in the model file or beside it.
    """

    tensors: int
    elements: int
    nbytes: int


class Anatomy(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is made of. Nothing was run for it.

    Attributes:
        path: the .onnx file.
        digest: "sha256:" and 64 hexadecimal digits, of the .onnx file alone.
        size: bytes of the file and its external weights together.
        inputs, outputs: the signature, with symbols; weights that old files list among the inputs are left
            out.
        opset: domain to version; "" is ONNX's own domain.
        ir_version: of the file format.
        producer: what wrote the file, with its version; "" where it does not say.
        metadata: what the file says of itself (``metadata_props``).
        nodes: how many, with those of inner graphs and functions, each where it stands: a function's once,
            however often it is called.
        operators: operator to the number of its nodes, most first; with its domain unless that is ONNX's own
            (``com.microsoft.FusedConv``).
        functions: ``domain.name`` of each function that the file defines, to the number of nodes inside.
        weights: element type to what is stored in it, most bytes first: initializers, tensors and constants
            in nodes, everywhere.
        external: name, as the model spells it, to size and digest of each file of external weights; None
            where it is missing, unreadable or refused.
        cost: what a call costs; None: it was not counted.
    """

    path: str
    digest: str
    size: int
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    opset: dict[str, int]
    ir_version: int
    producer: str
    metadata: dict[str, str]
    nodes: int
    operators: dict[str, int]
    functions: dict[str, int]
    weights: dict[str, Held]
    external: dict[str, External | None]
    cost: Cost | None = None


def anatomy(model: Model, cost: Cost | None = None) -> Anatomy:
    """Takes a model apart: hashes its files, walks its graph, reads no weights.

    Args:
        model: loaded either way; with ``external="report"`` also one whose weights are missing.
        cost: what a call costs, where that was counted (`hotlap.inspect.cost_apart.cost_of`).
    """
    counts = Counter(node.op for node in model.walk.nodes())
    return Anatomy(
        path=str(model.path),
        digest=model.digest,
        size=model.size,
        inputs=model.inputs,
        outputs=model.outputs,
        opset=model.opset,
        ir_version=model.ir_version,
        producer=model.producer,
        metadata={p.key: p.value for p in model.proto.metadata_props},
        nodes=counts.total(),
        operators=dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        functions=_functions(model.walk),
        weights=_weights(one.tensor for one in stored(model.walk)),
        external={**{p.location: None for p in model.external_problems}, **model.external},
        cost=cost,
    )


def _functions(walk: Walk) -> dict[str, int]:
    counts: list[int] = []
    for scope in walk.scopes:  # first the model's graph, then its functions, each before what is inside it
        if scope.outer is None:
            counts.append(0)
        counts[-1] += len(scope.nodes)
    names = (f"{f.domain}.{f.name}".lstrip(".") for f in walk.model.functions)
    return dict(zip(names, counts[1:], strict=True))


def _weights(tensors: Iterable[Any]) -> dict[str, Held]:
    sums: dict[str, list[int]] = {}
    for tensor in tensors:
        dtype = dtype_of(tensor)
        size = sums.setdefault("unknown" if dtype is None else dtype.name, [0, 0, 0])
        text = sum(map(len, tensor.string_data))
        for at, amount in enumerate((1, elements(tensor), stored_bytes(tensor) or text)):
            size[at] += amount
    return {
        name: Held(tensors=count, elements=many, nbytes=nbytes)
        for name, (count, many, nbytes) in sorted(sums.items(), key=lambda item: -item[1][2])
    }

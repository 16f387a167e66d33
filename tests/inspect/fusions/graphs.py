"""Patterns that ORT fuses, built on the spot, and what a real ORT makes of them.

A pattern is a `Parts`: nodes, weights, inputs. `Parts.model` makes the model; the other methods return a copy
with one thing changed, mostly something that keeps ORT from fusing.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T

from hotlap.inspect.case import Case, Ran, Runtime
from hotlap.inspect.fusions import Blocked, Running, running
from hotlap.model.walk import Walk
from tests import tiny

Fusion = Callable[[Running], Iterator[Blocked]]
Shape = tuple[int | str, ...]


def executed(model: onnx.ModelProto, level: str = "ALL") -> onnx.ModelProto:
    """The graph that ORT runs of a model on this host's CPU."""
    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
        options.optimized_model_filepath = str(Path(folder) / "executed.onnx")
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)


def case(model: onnx.ModelProto, ran: onnx.ModelProto | None = None, **runtime: Any) -> Case:
    """What a rule gets of a model that ORT loaded: its graph, and the one that is executed."""
    return Case(
        anatomy=None,  # these rules do not look at it
        walk=Walk(model),
        weights={},
        runtime=Runtime(ort=ort.__version__, **runtime),
        ran=Ran(executed=Walk(executed(model) if ran is None else ran)),
    )


def look(fusion: Fusion, model: onnx.ModelProto, level: str = "ALL") -> list[Blocked]:
    """The places that a fusion finds blocked in a model."""
    found = running(case(model, executed(model, level)))
    assert found is not None
    return list(fusion(found))


def kinds(places: list[Blocked]) -> list[str]:
    """The first blocker of each place."""
    return [p.blockers[0].kind if p.blockers else "not told" for p in places]


def ops(model: onnx.ModelProto, level: str = "ALL") -> Counter[str]:
    """Operators that ORT executes, without their domains; a fused activation counts as ``Conv+Relu``."""
    names: Counter[str] = Counter()
    for node in executed(model, level).graph.node:
        acting = [a.s.decode() for a in node.attribute if a.name == "activation"]
        names["+".join([node.op_type.removeprefix("Fused"), *acting])] += 1
    return names


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@dataclass(frozen=True)
class Parts:
    """A model to be."""

    nodes: tuple[onnx.NodeProto, ...]
    weights: dict[str, np.ndarray]
    inputs: dict[str, Shape]
    outputs: tuple[str, ...] = ("y",)
    opset: int = 17
    dtype: type[np.generic] = np.float32
    types: dict[str, int] = field(default_factory=dict)

    def model(self) -> onnx.ModelProto:
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        weights = {n: w.astype(self.dtype) if w.dtype == np.float32 else w for n, w in self.weights.items()}
        return tiny.model(
            self.nodes,
            [tiny.info(n, self.types.get(n, kind), s) for n, s in self.inputs.items()],
            [tiny.info(n, self.types.get(n, kind), None) for n in self.outputs],
            weights,
            opset=self.opset,
        )

    def of(self, dtype: type[np.generic]) -> Parts:
        return replace(self, dtype=dtype)

    def at(self, opset: int) -> Parts:
        return replace(self, opset=opset)

    def out(self, value: str) -> Parts:
        """Gives an inner value out as well."""
        return replace(self, outputs=(*self.outputs, value))

    def read(self, value: str, op: str = "Neg") -> Parts:
        """Another node reads an inner value."""
        other = tiny.node(op, [value], ["read"], name="other")
        shape = {"read": T.INT64} if op == "Shape" else {}
        return replace(
            self, nodes=(*self.nodes, other), outputs=(*self.outputs, "read"), types={**self.types, **shape}
        )

    def overridable(self, weight: str) -> Parts:
        """A caller may replace a weight."""
        shape = tuple(self.weights[weight].shape)
        return replace(self, inputs={**self.inputs, weight: shape})

    def asked(self, weight: str) -> Parts:
        """A caller must give what was a weight."""
        rest = {n: w for n, w in self.weights.items() if n != weight}
        return replace(self.overridable(weight), weights=rest)

    def swapped(self, name: str) -> Parts:
        """A node has its operands the other way round."""
        return self.changed(
            name, lambda n: tiny.node(n.op_type, list(n.input)[::-1], list(n.output), name=n.name)
        )

    def changed(self, name: str, change: Callable[[onnx.NodeProto], onnx.NodeProto]) -> Parts:
        return replace(self, nodes=tuple(change(n) if n.name == name else n for n in self.nodes))

    def between(self, value: str, user: str, *steps: onnx.NodeProto, **weights: np.ndarray) -> Parts:
        """Nodes between a value and one of its readers; the last of them makes ``<value>_``."""
        nodes: list[onnx.NodeProto] = []
        for node in self.nodes:
            if node.name == user:
                nodes += steps
                node = onnx.NodeProto.FromString(node.SerializeToString())
                node.input[:] = [f"{value}_" if v == value else v for v in node.input]
            nodes.append(node)
        return replace(self, nodes=tuple(nodes), weights={**self.weights, **weights})


def reshape(value: str, *target: int) -> tuple[onnx.NodeProto, dict[str, np.ndarray]]:
    """A Reshape for `Parts.between`, and its weight."""
    name = f"to_{value}"
    step = tiny.node("Reshape", [value, name], [f"{value}_"], name=f"reshape_{value}")
    return step, {name: np.array(target, np.int64)}


def conv(*then: onnx.NodeProto, **weights: np.ndarray) -> Parts:
    """y from c = conv(x); x: [b, 8, 8, 8], c: [b, 16, 8, 8]."""
    first = tiny.node("Conv", ["x", "k"], ["c"], name="conv", pads=[1, 1, 1, 1])
    return Parts((first, *then), {"k": normal(16, 8, 3, 3), **weights}, {"x": ("b", 8, 8, 8)})


def conv_batchnorm() -> Parts:
    norm = tiny.node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["y"], name="bn")
    one = {n: normal(16, seed=s) for s, n in enumerate(("scale", "bias", "mean"))}
    return conv(norm, **one, var=np.abs(normal(16)) + 1)


def conv_activation(op: str = "Relu", **attributes: Any) -> Parts:
    return conv(tiny.node(op, ["c"], ["y"], name="act", **attributes))


def conv_clip() -> Parts:
    step = tiny.node("Clip", ["c", "low", "high"], ["y"], name="act")
    return conv(step, low=np.float32(0) * normal(), high=np.float32(6) + 0 * normal())


def matmul_add(*shape: int | str) -> Parts:
    """y = x w + b; x: [n, 8], y: [n, 16]."""
    nodes = (
        tiny.node("MatMul", ["x", "w"], ["h"], name="matmul"),
        tiny.node("Add", ["h", "b"], ["y"], name="add"),
    )
    return Parts(nodes, {"w": normal(8, 16), "b": normal(16)}, {"x": shape or ("n", 8)})


def layer_norm_nodes(x: str, y: str, tag: str = "") -> list[onnx.NodeProto]:
    """A layer normalisation over the last axis, written out; weights: two, eps, g, be."""
    mean, d, sq, var, ve, sd, nrm, sc = (
        f"{name}{tag}" for name in ("mean", "d", "sq", "var", "ve", "sd", "nrm", "sc")
    )
    return [
        tiny.node("ReduceMean", [x], [mean], name=f"n_{mean}", axes=[-1]),
        tiny.node("Sub", [x, mean], [d], name=f"n_{d}"),
        tiny.node("Pow", [d, "two"], [sq], name=f"n_{sq}"),
        tiny.node("ReduceMean", [sq], [var], name=f"n_{var}", axes=[-1]),
        tiny.node("Add", [var, "eps"], [ve], name=f"n_{ve}"),
        tiny.node("Sqrt", [ve], [sd], name=f"n_{sd}"),
        tiny.node("Div", [d, sd], [nrm], name=f"n_{nrm}"),
        tiny.node("Mul", [nrm, "g"], [sc], name=f"n_{sc}"),
        tiny.node("Add", [sc, "be"], [y], name=f"n_{y}"),
    ]


def norm_weights(width: int = 8) -> dict[str, np.ndarray]:
    return {
        "two": np.array(2, np.float32),
        "eps": np.array(1e-5, np.float32),
        "g": normal(width),
        "be": normal(width, seed=1),
    }


def layer_norm(*shape: int | str) -> Parts:
    return Parts(tuple(layer_norm_nodes("x", "y")), norm_weights(), {"x": shape or ("b", "s", 8)}, opset=16)


def skip_layer_norm() -> Parts:
    """y = layernorm(p + q); both [b, s, 8]."""
    nodes = (
        tiny.node("Add", ["p", "q"], ["a"], name="add"),
        tiny.node("LayerNormalization", ["a", "g", "be"], ["y"], name="norm"),
    )
    sizes: Shape = ("b", "s", 8)
    return Parts(nodes, {"g": normal(8), "be": normal(8)}, {"p": sizes, "q": sizes})


def gelu(form: str = "half last") -> Parts:
    """0.5 x (1 + erf(x / sqrt 2)); `form`: which product comes first, or "reciprocal"."""
    products = {
        "half last": [(["x", "p"], "q"), (["q", "half"], "y")],
        "half with x": [(["x", "half"], "q"), (["q", "p"], "y")],
        "half first": [(["half", "p"], "q"), (["x", "q"], "y")],
    }[form if form != "reciprocal" else "half last"]
    scaling = ("Mul", "reciprocal") if form == "reciprocal" else ("Div", "root")
    nodes = (
        tiny.node(scaling[0], ["x", scaling[1]], ["d"], name="scale"),
        tiny.node("Erf", ["d"], ["e"], name="erf"),
        tiny.node("Add", ["e", "one"], ["p"], name="add"),
        *(tiny.node("Mul", i, [o], name=f"mul_{o}") for i, o in products),
    )
    numbers = {"one": 1.0, "half": 0.5, scaling[1]: 2**0.5 if scaling[1] == "root" else 0.5**0.5}
    weights = {n: np.array(v, np.float32) for n, v in numbers.items()}
    return Parts(nodes, weights, {"x": ("b", "s", 8)})


def silu() -> Parts:
    nodes = (
        tiny.node("Sigmoid", ["x"], ["s"], name="sigmoid"),
        tiny.node("Mul", ["x", "s"], ["y"], name="mul"),
    )
    return Parts(nodes, {}, {"x": ("b", "s", 8)})


def attention(opset: int = 12, heads: int = 4, size: int = 4) -> Parts:
    """One attention of BERT between two layer normalisations; x0: [b, s, 16], mask: int64[b, s]."""
    width = heads * size
    nodes = layer_norm_nodes("x0", "x", "0")
    new_axis = lambda v, o, a: tiny.node(  # noqa: E731
        "Unsqueeze", [v] if opset < 13 else [v, f"axis{a}"], [o], **({"axes": [a]} if opset < 13 else {})
    )
    nodes += [
        new_axis("mask", "m1", 1), new_axis("m1", "m2", 2),
        tiny.node("Cast", ["m2"], ["m3"], to=T.FLOAT), tiny.node("Sub", ["one", "m3"], ["m4"]),
        tiny.node("Mul", ["m4", "far"], ["m5"]),
    ]  # fmt: skip
    weights = {
        **norm_weights(width), "one": np.array(1, np.float32), "far": np.array(-1e4, np.float32),
        "split": np.array([0, 0, heads, size]), "join": np.array([0, 0, width]),
        "root": np.array(size**0.5, np.float32),
    }  # fmt: skip
    for seed, head in enumerate("qkvo"):
        weights |= {f"{head}w": normal(width, width, seed=seed), f"{head}b": normal(width, seed=seed)}
    for head in "qkv":
        nodes += [
            tiny.node("MatMul", ["x", f"{head}w"], [f"{head}0"], name=f"{head}_matmul"),
            tiny.node("Add", [f"{head}0", f"{head}b"], [f"{head}1"], name=f"{head}_add"),
            tiny.node("Reshape", [f"{head}1", "split"], [f"{head}2"], name=f"{head}_split"),
            tiny.node(
                "Transpose", [f"{head}2"], [f"{head}3"], perm=[0, 2, 3, 1] if head == "k" else [0, 2, 1, 3]
            ),
        ]
    nodes += [
        tiny.node("MatMul", ["q3", "k3"], ["qk"], name="scores"),
        tiny.node("Div", ["qk", "root"], ["scaled"], name="scale"),
        tiny.node("Add", ["scaled", "m5"], ["masked"], name="mask_add"),
        tiny.node("Softmax", ["masked"], ["p"], axis=3, name="softmax"),
        tiny.node("MatMul", ["p", "v3"], ["o"], name="mix"),
        tiny.node("Transpose", ["o"], ["o2"], perm=[0, 2, 1, 3]),
        tiny.node("Reshape", ["o2", "join"], ["o3"]),
        tiny.node("MatMul", ["o3", "ow"], ["o4"], name="o_matmul"),
        tiny.node("Add", ["o4", "ob"], ["o5"], name="o_add"),
        tiny.node("Add", ["o5", "x"], ["o6"], name="residual"),
        *layer_norm_nodes("o6", "y", "1"),
    ]
    if opset >= 13:
        weights |= {"axis1": np.array([1]), "axis2": np.array([2])}
    inputs: dict[str, Shape] = {"x0": ("b", "s", width), "mask": ("b", "s")}
    return Parts(tuple(nodes), weights, inputs, opset=opset, types={"mask": T.INT64})

"""Random valid models: many operators, values that several nodes read, outputs that are read inside as well,
graphs inside of nodes, shared weights, odd names, duplicates, dead ends.

Everything in them is float32[N, 4] and bounded. Operators that jump (Floor, ArgMax, …) read only values that
hold small whole numbers exactly, so that the last bit of a sum decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

__all__ = ["feed_for", "random_model"]

COLUMNS = 4
ODD = ("a/b:0", "onnx::Add_1", "größe", " blank", "1", "conv.weight", "x", "Ȯ'\"", "UPPER", "upper")
info = helper.make_tensor_value_info

UNARY = (
    "Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Softplus", "Erf", "Sin", "Cos", "Elu", "LeakyRelu",
    "HardSigmoid", "Selu", "Softsign", "Identity", "HardSwish", "Celu", "ThresholdedRelu",
)  # fmt: skip
BINARY = ("Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean", "PRelu")
JUMPING = ("Floor", "Ceil", "Round", "Sign")


class Maker:
    """One model in the making; everything is drawn from `rng`."""

    def __init__(self, seed: int, size: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}
        self.taken: set[str] = set()
        self.x, self.k = self.name(odd=True), self.name()
        self.values, self.exact = [self.x], [self.k]
        for _ in range(size):
            self.step()

    # ── names and nodes ───────────────────────────────────────────────────────────────────────────────

    def name(self, odd: bool = False) -> str:
        wanted = str(self.rng.choice(ODD)) if odd or self.rng.random() < 0.2 else f"v{len(self.taken)}"
        while wanted in self.taken:
            wanted += "_"
        self.taken.add(wanted)
        return wanted

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        made = [self.name() for _ in range(outputs)]
        label = self.name() if self.rng.random() < 0.7 else ""
        self.nodes.append(helper.make_node(kind, list(inputs), made, name=label, **attributes))
        return made[0]

    def weight(self, array: Any) -> str:
        name = self.name()
        self.weights[name] = np.asarray(array)
        return name

    def ints(self, *numbers: int) -> str:
        """A constant: a weight, or a node of its own."""
        array = np.array(numbers, np.int64)
        if self.rng.random() < 0.5:
            return self.weight(array)
        return self.op("Constant", value=numpy_helper.from_array(array))

    def matrix(self, *shape: int) -> str:
        """A float weight; now and then one that is there already."""
        same = [n for n, w in self.weights.items() if w.shape == shape and w.dtype == np.float32]
        if same and self.rng.random() < 0.4:
            return str(self.rng.choice(same))
        return self.weight(self.rng.standard_normal(shape).astype(np.float32) * 0.5)

    def value(self) -> str:
        return str(self.rng.choice(self.values))

    # ── one step ──────────────────────────────────────────────────────────────────────────────────────

    def step(self) -> None:
        kinds: list[Callable[[], str]] = [
            self.unary, self.unary, self.binary, self.binary, self.divide, self.choose,
            self.multiply, self.norm, self.layer_norm, self.turn, self.reshape,
            self.reshape_by_shape, self.unsqueeze, self.split, self.gather, self.pad, self.tile,
            self.reduce, self.cast, self.softmax, self.jump, self.arg_max, self.compare,
            self.fill, self.branch, self.loop, self.duplicate, self.cum_sum, self.top_k,
            self.clip, self.dropout, self.flatten, self.power, self.expand, self.gelu, self.uniform,
        ]  # fmt: skip
        made = kinds[int(self.rng.integers(len(kinds)))]()
        if self.rng.random() < 0.4:
            made = self.op("Tanh", made)
        self.values.append(made)

    def unary(self) -> str:
        return self.op(str(self.rng.choice(UNARY)), self.value())

    def binary(self) -> str:
        kind = str(self.rng.choice(BINARY))
        other = self.matrix(1, COLUMNS) if kind == "PRelu" or self.rng.random() < 0.3 else self.value()
        return self.op("Tanh", self.op(kind, self.value(), other))

    def divide(self) -> str:
        below = self.op("Add", self.op("Abs", self.value()), self.weight(np.float32(1)))
        if self.rng.random() < 0.3:
            return self.op("Reciprocal", below)
        if self.rng.random() < 0.3:
            return self.op("Log", self.op("Sqrt", below))
        return self.op("Div", self.value(), below)

    def choose(self) -> str:
        kind = str(self.rng.choice(["Greater", "Less", "GreaterOrEqual", "LessOrEqual"]))
        mask = self.op(kind, self.k, self.weight(np.float32(0.5)))
        if self.rng.random() < 0.5:
            mask = self.op("Not", mask)
        return self.op("Where", mask, self.value(), self.value())

    def multiply(self) -> str:
        if self.rng.random() < 0.5:
            return self.op("Tanh", self.op("MatMul", self.value(), self.matrix(COLUMNS, COLUMNS)))
        gemm = self.op("Gemm", self.value(), self.matrix(COLUMNS, COLUMNS), self.matrix(COLUMNS), transB=1)
        return self.op("Tanh", gemm)

    def norm(self) -> str:
        numbers = [self.matrix(COLUMNS), self.matrix(COLUMNS), self.matrix(COLUMNS)]
        variance = self.weight(np.full(COLUMNS, 1.5, np.float32))
        return self.op("Tanh", self.op("BatchNormalization", self.value(), *numbers, variance))

    def layer_norm(self) -> str:
        near = self.op("Add", self.value(), self.weight(np.arange(COLUMNS, dtype=np.float32) * 3))
        return self.op("LayerNormalization", near, self.matrix(COLUMNS), self.matrix(COLUMNS))

    def turn(self) -> str:
        return self.op("Transpose", self.op("Relu", self.op("Transpose", self.value())), perm=[1, 0])

    def reshape(self) -> str:
        apart = self.op("Reshape", self.value(), self.ints(0, 2, 2))
        return self.op("Reshape", apart, self.ints(-1, COLUMNS))

    def reshape_by_shape(self) -> str:
        rows = self.op("Gather", self.op("Shape", self.value()), self.ints(0))
        return self.op("Reshape", self.value(), self.op("Concat", rows, self.ints(COLUMNS), axis=0))

    def unsqueeze(self) -> str:
        axis = self.ints(1)
        return self.op("Squeeze", self.op("Unsqueeze", self.value(), axis), axis)

    def split(self) -> str:
        names = [self.name(), self.name()]
        self.nodes.append(helper.make_node("Split", [self.value()], names, axis=1))
        return self.op("Concat", *names[:: 1 if self.rng.random() < 0.5 else -1], axis=1)

    def gather(self) -> str:
        return self.op("Gather", self.value(), self.ints(*self.rng.permutation(COLUMNS)), axis=1)

    def pad(self) -> str:
        wide = self.op("Pad", self.value(), self.ints(0, 1, 0, 2))
        return self.op("Slice", wide, self.ints(2), self.ints(2 + COLUMNS), self.ints(1))

    def tile(self) -> str:
        twice = self.op("Tile", self.value(), self.ints(1, 2))
        return self.op("Slice", twice, self.ints(0), self.ints(2 * COLUMNS), self.ints(1), self.ints(2))

    def reduce(self) -> str:
        kind = str(self.rng.choice(["ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2"]))
        return self.op("Sub", self.value(), self.op(kind, self.value(), axes=[1], keepdims=1))

    def cast(self) -> str:
        there_and_back = self.op("Cast", self.op("Cast", self.value(), to=T.DOUBLE), to=T.FLOAT)
        # ORT drops such casts even with all optimisations off, also where an inner graph reads what they
        # give, and then misses it. So nothing else reads it here.
        return self.op("Tanh", there_and_back)

    def softmax(self) -> str:
        return self.op(str(self.rng.choice(["Softmax", "LogSoftmax"])), self.value(), axis=-1)

    def jump(self) -> str:
        half = self.op("Mul", self.k, self.weight(np.float32(0.5)))
        made = self.op(str(self.rng.choice(JUMPING)), half)
        self.exact.append(made)
        return self.op("Mul", made, self.value())

    def arg_max(self) -> str:
        place = self.op("ArgMax", self.k, axis=1, keepdims=0)
        if self.rng.random() < 0.5:
            hot = self.op("OneHot", place, self.ints(COLUMNS), self.weight(np.array([0, 1], np.float32)))
            return self.op("Add", hot, self.value())
        rows = self.op("Unsqueeze", self.op("Cast", place, to=T.FLOAT), self.ints(1))
        return self.op("Add", rows, self.value())

    def compare(self) -> str:
        same = self.op("Equal", self.op("Cast", self.k, to=T.INT64), self.ints(1))
        other = self.op("Less", self.k, self.weight(np.float32(0)))
        both = self.op(str(self.rng.choice(["And", "Or", "Xor"])), same, other)
        return self.op("Mul", self.op("Cast", both, to=T.FLOAT), self.value())

    def fill(self) -> str:
        one = numpy_helper.from_array(np.array([0.25], np.float32))
        return self.op(
            "Add", self.op("ConstantOfShape", self.op("Shape", self.value()), value=one), self.value()
        )

    def expand(self) -> str:
        row = self.op("ReduceMax", self.value(), axes=[1], keepdims=1)
        return self.op("Expand", row, self.op("Shape", self.value()))

    def duplicate(self) -> str:
        kind, value = str(self.rng.choice(UNARY)), self.value()
        return self.op("Sub", self.op(kind, value), self.op("Neg", self.op(kind, value)))

    def cum_sum(self) -> str:
        return self.op("Tanh", self.op("CumSum", self.value(), self.weight(np.int64(1))))

    def top_k(self) -> str:
        made = self.op("TopK", self.k, self.ints(COLUMNS), outputs=2, axis=1)
        return self.op("Add", made, self.value())

    def clip(self) -> str:
        return self.op("Clip", self.value(), self.weight(np.float32(-0.5)), self.weight(np.float32(0.75)))

    def dropout(self) -> str:
        return self.op("Dropout", self.value())

    def flatten(self) -> str:
        return self.op("Flatten", self.op("Reshape", self.value(), self.ints(0, 1, COLUMNS)), axis=1)

    def gelu(self) -> str:
        """In the order that is fused, and in others."""
        x, half = self.value(), self.weight(np.float32(0.5))
        if self.rng.random() < 0.5:
            scaled = self.op("Div", x, self.weight(np.float32(2**0.5)))
        else:
            scaled = self.op("Mul", self.weight(np.float32(0.5**0.5)), x)
        plus = self.op("Add", self.op("Erf", scaled), self.weight(np.float32(1)))
        if self.rng.random() < 0.5:
            return self.op("Tanh", self.op("Mul", x, self.op("Mul", half, plus)))
        return self.op("Tanh", self.op("Mul", self.op("Mul", x, plus), half))

    def uniform(self) -> str:
        return self.op("Sub", self.value(), self.weight(np.full((1, COLUMNS), 0.5, np.float32)))

    def power(self) -> str:
        return self.op("Pow", self.op("Tanh", self.value()), self.weight(np.float32(2)))

    # ── graphs inside ─────────────────────────────────────────────────────────────────────────────────

    def branch(self) -> str:
        yes = self.op("Greater", self.op("ReduceSum", self.k, keepdims=0), self.weight(np.float32(0)))
        graphs = [self.inner(f"branch{n}") for n in range(2)]
        return self.op("If", yes, then_branch=graphs[0], else_branch=graphs[1])

    def inner(self, label: str) -> onnx.GraphProto:
        """Reads values and weights from around it; its own may have a name that is used elsewhere."""
        own, out = self.name(), self.name()
        nodes = [
            helper.make_node(str(self.rng.choice(UNARY)), [self.value()], [own]),
            helper.make_node("Add", [own, self.matrix(1, COLUMNS)], [out]),
        ]
        return helper.make_graph(nodes, label, [], [info(out, T.FLOAT, [None, COLUMNS])])

    def loop(self) -> str:
        step, going, carried = self.name(), self.name(), self.name()
        still, half, new = self.name(), self.name(), self.name()
        body = helper.make_graph(
            [
                helper.make_node("Identity", [going], [still]),
                helper.make_node("Mul", [carried, self.matrix(1, COLUMNS)], [half]),
                helper.make_node("Add", [half, self.value()], [new]),
            ],
            "body",
            [info(step, T.INT64, []), info(going, T.BOOL, []), info(carried, T.FLOAT, [None, COLUMNS])],
            [info(still, T.BOOL, []), info(new, T.FLOAT, [None, COLUMNS])],
        )
        times = self.weight(np.int64(self.rng.integers(0, 3)))
        return self.op("Tanh", self.op("Loop", times, self.weight(np.bool_(True)), self.value(), body=body))

    # ── the whole ─────────────────────────────────────────────────────────────────────────────────────

    def model(self) -> onnx.ModelProto:
        self.op("Neg", self.value())  # leads nowhere
        made = self.values[1:]
        count = min(len(made), int(self.rng.integers(1, 4)))
        chosen = {made[-1], *(str(v) for v in self.rng.choice(made, count))}
        outputs = [info(name, T.FLOAT, ["N", COLUMNS]) for name in made if name in chosen]
        inputs = [info(name, T.FLOAT, ["N", COLUMNS]) for name in (self.x, self.k)]
        weights = {**self.weights, self.name(): np.full(3, 1e-39, np.float32)}  # unused, and denormal
        if self.rng.random() < 0.2:
            inputs += [info(n, helper.np_dtype_to_tensor_dtype(w.dtype), w.shape) for n, w in weights.items()]
        tensors = [numpy_helper.from_array(w, n) for n, w in weights.items()]
        graph = helper.make_graph(self.nodes, "random", inputs, outputs, tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def random_model(seed: int, size: int) -> onnx.ModelProto:
    """A model of about `size` steps of one to five nodes; equal arguments give equal models."""
    return Maker(seed, size).model()


def feed_for(model: onnx.ModelProto, rows: int, seed: int = 0) -> dict[str, Any]:
    """Its two inputs: any numbers, and small whole ones."""
    rng = np.random.default_rng(seed)
    x, k = (v.name for v in model.graph.input[:2])
    whole = np.stack([rng.permutation(7)[:COLUMNS] - 3 for _ in range(rows)]).astype(np.float32)
    return {x: rng.standard_normal((rows, COLUMNS), np.float32), k: whole}

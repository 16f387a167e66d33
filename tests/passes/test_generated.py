"""Every pass, and any two in a row, leave the answers of random models as they were."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hotlap.errors import ModelError, TargetFailed, VerificationFailed
from hotlap.passes import Draft, Pass, apply
from hotlap.passes.bind_axes import BindAxes
from hotlap.passes.convert_opset import ConvertOpset
from hotlap.passes.cut import Cut
from hotlap.passes.external_weights import ExternalWeights
from hotlap.passes.flush_denormals import FlushDenormals
from hotlap.passes.fold import Fold
from hotlap.passes.fuse import Fuse
from hotlap.passes.gelu import Gelu
from hotlap.passes.graphs import all_graphs
from hotlap.passes.half import Half
from hotlap.passes.lower_ir import LowerIr
from hotlap.passes.mend_batch import MendBatch
from hotlap.passes.remove_zipmap import RemoveZipmap
from hotlap.passes.rename import Rename
from hotlap.passes.shrink import Shrink
from hotlap.passes.transformer import Transformer
from hotlap.passes.weights_out_of_inputs import WeightsOutOfInputs
from hotlap.runtime import open as open_model
from tests.passes.graphs import feed_for, random_model

ROWS = 3
NAMES = (
    "weights-out-of-inputs", "flush-denormals", "fold", "fuse", "fuse-extended", "sweep", "cut", "cut-inside",
    "external-weights", "lower-ir", "convert-opset", "rename", "bind-axes", "shrink", "gelu",
    "transformer", "mend-batch", "remove-zipmap", "half",
)  # fmt: skip


BROKEN = (
    "fuse: it wrote a broken graph",
    "transformer: it wrote a broken graph",
    "transformer: ONNX Runtime's optimiser failed on this graph",
    "load: ",
    "half: in float16 ",
)


def asked_by(draft: Draft, feed: dict[str, Any]) -> dict[str, Any]:
    """A feed of the source by the draft's names."""
    return {name: feed[source] for name, source in draft.inputs.items()}


def a_pass(name: str, draft: Draft, source: Draft, feed: dict[str, Any]) -> Pass:
    """The pass of that name with arguments that fit the draft."""
    known = source.walk.root.makers  # what a pass made has nothing to be compared with
    inner = [
        n
        for node in draft.walk.root.nodes
        for n in node.outputs
        if node.op in ("Tanh", "Relu") and n in known
    ]
    renamed = {
        draft.input_names[0]: draft.output_names[0],
        draft.output_names[0]: f"{draft.output_names[0]}!",
    }
    passes: dict[str, Pass] = {
        "weights-out-of-inputs": WeightsOutOfInputs(),
        "flush-denormals": FlushDenormals(),
        "fold": Fold(),
        "fuse": Fuse(),
        "fuse-extended": Fuse("extended"),
        "sweep": Cut(),
        "cut": Cut((draft.output_names[-1],)),
        "cut-inside": Cut(tuple(dict.fromkeys([*inner[:1], draft.output_names[0]]))),
        "external-weights": ExternalWeights(0),
        "lower-ir": LowerIr(8),
        "convert-opset": ConvertOpset(20),
        "rename": Rename(renamed),
        "shrink": Shrink(16),
        "gelu": Gelu(),
        "transformer": Transformer(),
        "mend-batch": MendBatch(),
        "remove-zipmap": RemoveZipmap(),
        "half": Half([feed]),
        "bind-axes": BindAxes({f"{draft.input_names[0]}[0]": ROWS}),
    }
    return passes[name]


def unoptimised(path: Path, feed: dict[str, Any]) -> dict[str, Any]:
    session = {"graph_optimization_level": "ORT_DISABLE_ALL"}
    with open_model(path, providers="cpu", threads=1, session=session, warm=False) as runner:
        return {name: np.array(value) for name, value in runner.run(feed).items()}


def with_inner(source: Draft, draft: Draft, folder: Path) -> Path:
    """The source with every value as an output that the draft gives out."""
    proto = source.copy()
    have = set(source.output_names)
    for origin in draft.outputs.values():
        if origin.value not in have:
            proto.graph.output.append(onnx.ValueInfoProto(name=origin.value))
    return source.edited(proto).lay(folder, "reference.onnx")


def check(source: Draft, names: tuple[str, ...], folder: Path) -> None:
    feed = feed_for(source.proto, ROWS)
    draft = source
    for name in names:
        try:
            draft = apply(draft, [a_pass(name, draft, source, feed)], strict=False).draft
        except (TargetFailed, ModelError, VerificationFailed) as error:
            # The converter has no way for some operators, ORT breaks some graphs that hold others, and some
            # answers hang on more digits than float16 has: that is told, and nothing is kept.
            assert name == "convert-opset" or any(told in str(error) for told in BROKEN), (name, error)
    (folder / "after").mkdir()
    after = unoptimised(draft.lay(folder / "after"), asked_by(draft, feed))
    before = unoptimised(with_inner(source, draft, folder), feed)
    assert after.keys() == draft.outputs.keys()
    for name, origin in draft.outputs.items():
        was = before[origin.value]
        assert after[name].shape == was.shape and after[name].dtype == was.dtype
        near = 0.05 if "half" in names else 1e-3
        np.testing.assert_allclose(after[name], was, rtol=near, atol=near, err_msg=f"{names}: {name}")


def check_seed(seed: int, size: int, names: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        path = folder / "m.onnx"
        path.write_bytes(random_model(seed, size).SerializeToString())
        check(Draft.load(path), names, folder)


ALLOWED = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    database=None,
)


@pytest.mark.usefixtures("all_here")
@pytest.mark.parametrize("name", NAMES)
@settings(ALLOWED, max_examples=5)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(2, 14))
def test_every_pass(name: str, seed: int, size: int) -> None:
    check_seed(seed, size, (name,))


@pytest.mark.usefixtures("all_here")
@settings(ALLOWED, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1), size=st.integers(2, 12), names=st.tuples(*[st.sampled_from(NAMES)] * 2)
)
def test_any_two_in_a_row(seed: int, size: int, names: tuple[str, str]) -> None:
    check_seed(seed, size, names)


@pytest.mark.slow
@pytest.mark.usefixtures("all_here")
@settings(ALLOWED, max_examples=250)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(2, 30),
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
)
@example(seed=1, size=3, names=["half", "cut-inside"])
@example(seed=0, size=2, names=["half", "fuse", "half"])
def test_any_row_of_passes(seed: int, size: int, names: list[str]) -> None:
    check_seed(seed, size, tuple(names))


def test_the_generated_models_hold_what_they_promise() -> None:
    operators: set[str] = set()
    seen: Counter[str] = Counter()
    for seed in range(60):
        model = random_model(seed, 12)
        onnx.checker.check_model(model)
        graphs = list(all_graphs(model.graph))
        read = Counter(v for g in graphs for n in g.node for v in n.input)
        weights = {t.name for t in model.graph.initializer}
        outputs = {v.name for v in model.graph.output}
        operators |= {n.op_type for g in graphs for n in g.node}
        seen["inner graphs"] += len(graphs) > 1
        seen["values read twice"] += any(c > 1 for v, c in read.items() if v not in weights)
        seen["outputs that are read"] += any(v in read for v in outputs)
        seen["shared weights"] += any(read[w] > 1 for w in weights)
        seen["odd names"] += any(not v.isidentifier() for v in read)
    assert len(operators) >= 40
    assert min(seen.values()) >= 10 and len(seen) == 5, seen

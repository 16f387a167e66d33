from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.model import Anatomy, Model, anatomy, weight_stats
from hotlap.model.anatomy import Held
from hotlap.model.cost import count_cost
from hotlap.runtime import file_digest
from hotlap.tensors import TensorSpec
from tests import tiny
from tests.real import NAMES, real


def taken(model: onnx.ModelProto, folder: Path) -> Anatomy:
    return anatomy(Model.load(tiny.save(model, folder / "m.onnx"), external="report"))


def test_a_small_model_is_told_whole(tmp_path: Path) -> None:
    model = tiny.mlp()
    model.metadata_props.add(key="author", value="somebody")
    found = taken(model, tmp_path)
    path = tmp_path / "m.onnx"
    assert found == Anatomy(
        path=str(path),
        digest=file_digest(path),
        size=path.stat().st_size,
        inputs=(TensorSpec.of("x", "float32", ["batch", 16]),),
        outputs=(TensorSpec.of("y", "float32", ["batch", 4]),),
        opset={"": 17},
        ir_version=9,
        producer="tiny",
        metadata={"author": "somebody"},
        nodes=3,
        operators={"Gemm": 2, "Relu": 1},
        functions={},
        weights={"float32": Held(tensors=4, elements=676, nbytes=2704)},
        external={},
    )


@pytest.mark.parametrize("build", [tiny.mlp, tiny.zipmap, tiny.sequence, tiny.branch, tiny.empty, tiny.text])
def test_it_survives_json(build: object, tmp_path: Path) -> None:
    found = taken(build(), tmp_path)  # type: ignore[operator]
    assert msgspec.json.decode(msgspec.json.encode(found), type=Anatomy) == found


def test_inner_graphs_and_functions_count(tmp_path: Path) -> None:
    model = tiny.branch()
    weight = numpy_helper.from_array(np.ones(3, np.float16))
    model.graph.node[2].attribute[0].g.node.add(op_type="Constant", output=["c"]).attribute.append(
        helper.make_attribute("value", weight)
    )
    inside = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["t"])], "g", [], [tiny.info("t", T.FLOAT, None)]
    )
    body = [helper.make_node("If", ["c"], ["y"], then_branch=inside, else_branch=inside)]
    opset = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("own", "choose", ["a", "c"], ["y"], body, opset))
    found = taken(model, tmp_path)
    assert found.operators == {
        "Neg": 3, "If": 2, "Add": 1, "Constant": 1, "Greater": 1, "ReduceSum": 1,
    }  # fmt: skip
    assert found.nodes == 9 and found.functions == {"own.choose": 3}
    assert found.weights == {
        "float16": Held(tensors=1, elements=3, nbytes=6),
        "float32": Held(tensors=1, elements=1, nbytes=4),
    }


def test_operators_of_other_domains_keep_theirs(tmp_path: Path) -> None:
    assert taken(tiny.zipmap(), tmp_path).operators == {"ArgMax": 1, "ai.onnx.ml.ZipMap": 1}


def test_external_files_have_size_and_digest(tmp_path: Path) -> None:
    found = anatomy(Model.load(tiny.mlp_external(tmp_path)))
    data = tmp_path / "model.onnx.data"
    (file,) = found.external.values()
    assert file is not None and (file.size, file.digest) == (data.stat().st_size, file_digest(data))
    assert found.weights["float32"].nbytes == 2704


def test_a_model_without_its_weights_has_an_anatomy(tmp_path: Path) -> None:
    found = taken(tiny.external_at("w.bin"), tmp_path)
    assert found.external == {"w.bin": None}
    assert found.weights == {"float32": Held(tensors=1, elements=4, nbytes=16)}


def whole(path: Path) -> Anatomy:
    model = Model.load(path, external="report")
    found = anatomy(model, count_cost(model.proto))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Anatomy) == found
    weights = list(weight_stats(model.proto, path.parent, model.walk))
    assert len({w.name for w in weights}) == len(weights) and all(w.digest for w in weights)
    assert sum(h.nbytes for h in found.weights.values()) == sum(w.nbytes for w in weights)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_real_models(name: str) -> None:
    found = whole(real(name).path)
    assert found.nodes == sum(found.operators.values()) > 0
    assert 0 < sum(h.nbytes for h in found.weights.values()) < found.size


def test_the_models_of_onnx_itself() -> None:
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data"
    found = [whole(path) for path in sorted(folder.rglob("*.onnx"))]
    assert len(found) > 100 and all(a.nodes for a in found)

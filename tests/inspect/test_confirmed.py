"""Each real model is inspected by every rule, and one finding about each is confirmed by other means alone.

Below nothing of hotlap is used but what is to be confirmed: the rest is onnx, numpy and ONNX Runtime.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper

from examples.inputs.models import RealModel
from hotlap.inspect import Inspection
from tests.inspect.confirmed import CONFIRMED
from tests.inspect.inspected import inspected
from tests.real import NAMES, needs_fonts, real

Seen = tuple[int | float | str, ...]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_is_inspected_to_the_end(name: str) -> None:
    found = inspected(name)
    assert found.unknown == ()
    assert (found.ran, found.data) == (True, "yours")
    assert found.facts is not None and found.facts.repeats == "equal"
    assert set(found.placement) == {"cpu"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_inspect_says_is_seen_by_other_means(name: str, tmp_path: Path) -> None:
    if name == "ocr-cls":
        needs_fonts()
    confirmed = CONFIRMED[name]
    assert [told for told in all_told(inspected(name)) if told.startswith(confirmed.finding)]
    assert CHECKS[name](real(name), tmp_path) == confirmed.seen


def all_told(found: Inspection) -> Iterator[str]:
    """Findings and facts, as `Confirmed.finding` begins them."""
    yield from (f"{f.code} {f.message}" for f in found.findings)
    assert found.facts is not None
    yield f"rows {found.facts.rows}"
    yield from (f"axis {axis} of {name}" for name, axis in found.facts.axes.items())


# ── plain ONNX Runtime and onnx ───────────────────────────────────────────────────────────────────────


def session(model: Path | onnx.ModelProto, written: Path | None = None) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if written is not None:
        options.optimized_model_filepath = str(written)
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def executed(model: onnx.ModelProto, op: str, folder: Path) -> int:
    """How many nodes of an operator ONNX Runtime makes of the model."""
    file = folder / "executed.onnx"
    session(model, written=file)
    return sum(node.op_type == op for node in onnx.load(file).graph.node)


def weights(model: onnx.ModelProto) -> dict[str, onnx.TensorProto]:
    """Stored tensors by name: initializers, and those of Constant nodes."""
    found = {t.name: t for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = node.attribute[0].t
    return found


def denormal(tensor: onnx.TensorProto) -> tuple[int, int]:
    """How many of how many elements."""
    numbers = numpy_helper.to_array(tensor)
    small = (numbers != 0) & (np.abs(numbers) < np.finfo(np.float32).smallest_normal)
    return int(small.sum()), numbers.size


def maker(model: onnx.ModelProto, value: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if value in node.output)


def named(model: onnx.ModelProto, name: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.name == name)


def refused(run: Callable[[], Any]) -> str:
    with pytest.raises(Exception, match="INVALID_ARGUMENT") as caught:  # ORT's has no other base
        run()
    return str(caught.value)


# ── one model each ────────────────────────────────────────────────────────────────────────────────────


def ocr_det(model: RealModel, _: Path) -> Seen:
    return denormal(weights(onnx.load(model.path))["conv2d_96.w_0"])


def ocr_cls(model: RealModel, _: Path) -> Seen:
    x = model.feeds(1)[0]["x"]
    run = session(model.path).run
    (line,), (padded,) = run(None, {"x": x}), run(None, {"x": np.pad(x, [(0, 0)] * 3 + [(0, 16)])})
    return round(float(line[0, 0]), 2), round(float(padded[0, 0]), 2)


def ocr_rec(model: RealModel, _: Path) -> Seen:
    stored = weights(onnx.load(model.path)).items()
    counts = {name: denormal(t)[0] for name, t in stored if t.data_type == onnx.TensorProto.FLOAT}
    found = {name for name, count in counts.items() if count}
    told = [f for f in inspected(model.name).findings if f.code == "HL202"]
    others = told[-1].message.partition(": ")[2].split(", ")
    assert found == {*others, *(f.tensor for f in told[:-1])}
    return len(found), counts["conv2d_117.w_0"]


def ocr6_rec(model: RealModel, folder: Path) -> Seen:
    graph = onnx.load(model.path)
    before = executed(graph, "SkipLayerNormalization", folder)
    reader, summed = named(graph, "Add.178"), named(graph, "Add.168")
    (place,) = [n for n, v in enumerate(reader.input) if leads_to(graph, v, summed.output[0])]
    reader.input[place] = summed.input[0]
    return (executed(graph, "SkipLayerNormalization", folder) - before,)


def leads_to(model: onnx.ModelProto, value: str, source: str) -> bool:
    """Whether a value is another one, through Identity nodes alone."""
    by = {o: node for node in model.graph.node for o in node.output if node.op_type == "Identity"}
    while value != source and value in by:
        value = by[value].input[0]
    return value == source


def magika(model: RealModel, _: Path) -> Seen:
    run = session(model.path).run
    files = [feed["bytes"] for feed in model.feeds(8)]
    alone = np.concatenate([run(None, {"bytes": file})[0] for file in files])
    (together,) = run(None, {"bytes": np.concatenate(files)})
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-4)
    assert (together.argmax(1) == alone.argmax(1)).all()
    return len(together), len(set(together.argmax(1)))


def silero(model: RealModel, _: Path) -> Seen:
    read: set[str] = set()
    lstms: list[onnx.NodeProto] = []

    def look(graph: onnx.GraphProto) -> None:
        read.update(o.name for o in graph.output)
        for node in graph.node:
            read.update(node.input)
            lstms.extend([node] if node.op_type == "LSTM" else [])
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    look(attribute.g)

    look(onnx.load(model.path).graph)
    return sum(bool(n.output[0]) and n.output[0] not in read for n in lstms), len(lstms)


def minilm(model: RealModel, _: Path) -> Seen:
    feed, plain = model.feeds(1)[0], session(model.path)
    answers = dict(zip([o.name for o in plain.get_outputs()], plain.run(None, feed), strict=True))
    return tuple(
        next(o for o, answer in answers.items() if np.array_equal(answer, given))
        for given in (feed["input_ids"], feed["attention_mask"])
    )


def minilm_int8(model: RealModel, folder: Path) -> Seen:
    graph = onnx.load(model.path)
    before = gelus(graph, folder)
    halved, whole = named(graph, "node_Mul_113"), maker(graph, "gelu")
    half, erf = halved.input
    (x,) = [v for v in whole.input if v != halved.output[0]]
    halved.input[:], whole.input[:] = [x, erf], [halved.output[0], half]
    return gelus(graph, folder), before


def gelus(model: onnx.ModelProto, folder: Path) -> int:
    return executed(model, "Gelu", folder) + executed(model, "BiasGelu", folder)


def ddddocr_old(model: RealModel, _: Path) -> Seen:
    graph = onnx.load(model.path)
    product = named(graph, "Gemm_220_MatMul_quant")
    assert product.op_type == "MatMulInteger"
    stored = numpy_helper.to_array(weights(graph)[product.input[1]]).dtype
    return str(stored), maker(graph, product.input[0]).op_type


def ddddocr(model: RealModel, _: Path) -> Seen:
    (declared,) = onnx.load(model.path).graph.output
    (answer,) = session(model.path).run(None, model.feeds(1)[0])
    assert answer.shape[1:] == (1, 8210)
    return len(declared.type.tensor_type.shape.dim), answer.ndim, answer.shape[0]


def ddddocr_det(model: RealModel, _: Path) -> Seen:
    pictures = np.concatenate([feed["images"] for feed in model.feeds(2)])
    plain = session(model.path)
    said = re.search(r"Got: (\d+) Expected: (\d+)", refused(lambda: plain.run(None, {"images": pictures})))
    assert said
    return int(said[1]), int(said[2])


def captcha(model: RealModel, _: Path) -> Seen:
    run = session(model.path).run
    pictures = [feed["image"] for feed in model.feeds(3)]
    (together,) = run(None, {"image": np.concatenate(pictures)})
    for n, picture in enumerate(pictures):
        (alone,) = run(None, {"image": picture})
        np.testing.assert_allclose(together[:, n : n + 1], alone, rtol=0, atol=1e-3)
    return len(pictures), *together.shape


CHECKS: dict[str, Callable[[RealModel, Path], Seen]] = {
    "ocr-det": ocr_det,
    "ocr-cls": ocr_cls,
    "ocr-rec": ocr_rec,
    "ocr6-rec": ocr6_rec,
    "magika": magika,
    "silero": silero,
    "minilm": minilm,
    "minilm-int8": minilm_int8,
    "ddddocr-old": ddddocr_old,
    "ddddocr": ddddocr,
    "ddddocr-det": ddddocr_det,
    "captcha": captcha,
}


def test_every_model_has_one() -> None:
    assert set(CHECKS) == set(CONFIRMED) == set(NAMES)

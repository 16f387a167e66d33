"""What probing says of the twelve real models, against plain loops over onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

import hotlap
from hotlap import Model
from hotlap.runtime.probe import probe
from tests.real import NAMES, needs_fonts, real

ROWS = {
    "ocr-det": {"x": 0, "sigmoid_0.tmp_0": 0},
    "ocr-cls": {"x": 0, "save_infer_model/scale_0.tmp_1": 0},
    "ocr-rec": {"x": 0, "softmax_11.tmp_0": 0},
    "ocr6-rec": {"x": 0, "fetch_name_0": 0},
    "magika": {"bytes": 0, "target_label": 0},
    "silero": {"input": 0, "state": 1, "output": 0, "stateN": 1},
    "minilm": {
        "input_ids": 0,
        "attention_mask": 0,
        "output": 0,
        "463": 0,
        "onnx::Shape_422": 0,
        "461": 0,
    },
    "minilm-int8": {"input_ids": 0, "attention_mask": 0, "token_type_ids": 0, "last_hidden_state": 0},
    "captcha": {"image": 0, "logits": 1},
}
"""Models whose rows are independent, and where they lie. The others are declared for one row."""
PADDING = {
    "ocr-det": {"p2o.DynamicDimension.1": "sensitive", "p2o.DynamicDimension.2": "sensitive"},
    "ocr-cls": {"x[2]": "sensitive", "x[3]": "sensitive"},
    "ocr-rec": {"x[2]": "sensitive", "p2o.DynamicDimension.1": "sensitive"},
    "ocr6-rec": {"DynamicDimension.1": "sensitive"},
    "magika": {},
    "silero": {"input[1]": "sensitive"},
    "minilm": {"sequence_length": "insensitive"},
    "minilm-int8": {"sequence": "insensitive"},
    "ddddocr-old": {"image_width": "sensitive"},
    "ddddocr": {"image_width": "sensitive"},
    "ddddocr-det": {},
    "captcha": {},
}
LENGTHS = {
    "ocr-det": [("x", 2, 64), ("x", 3, 64)],
    "ocr-cls": [("x", 2, 48), ("x", 3, 96)],
    "ocr-rec": [("x", 2, 24), ("x", 3, 64)],
    "ocr6-rec": [("x", 3, 64)],
    "silero": [("input", 1, 32)],
    "ddddocr-old": [("input1", 3, 64)],
    "ddddocr": [("input1", 3, 64)],
}
"""Where padding changes answers: (input, axis, by how much it is padded below)."""
WRONGLY_DECLARED = {"ddddocr-old": {"387": ("?", 1, 8210)}, "ddddocr": {"387": ("?", 1, 8210)}}


def session_of(name: str) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(real(name).path, options, providers=["CPUExecutionProvider"])


def answers(session: Any, feed: dict[str, Any]) -> dict[str, Any]:
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def of_one_shape(feeds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Real feeds, each cut or repeated to the shape of the first."""
    first = feeds[0]
    return [{n: np.resize(f[n], a.shape).astype(a.dtype) for n, a in first.items()} for f in feeds]


def apart(one: Any, other: Any) -> float:
    return float(np.abs(one - other).max() / max(np.abs(one).max(), 1e-30))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_probing_learns_what_plain_loops_show(name: str) -> None:
    model = real(name)
    limits = Model.load(model.path).id_limits()
    with hotlap.open(model.path) as runner:
        for feed in (model.feeds(1)[0], None):
            facts = probe(runner, feed=feed, limits=limits, seconds=120)
            assert facts.rows == ("independent" if name in ROWS else "unknown"), facts.why
            assert facts.axes == ROWS.get(name, {})
            assert facts.padding == PADDING[name]
            assert facts.shapes == WRONGLY_DECLARED.get(name, {})
            assert (facts.stuck, facts.repeats, facts.repeats_by) == ((), "equal", 0.0)
            assert set(facts.seconds) == ({"1", "2", "3", "8"} if name in ROWS else {"1"})


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_rows_alone_and_in_a_batch(name: str) -> None:
    session = session_of(name)
    axes = ROWS[name]
    rows = of_one_shape(real(name).feeds(4))
    loud = {n: a * 50 if a.dtype.kind == "f" else a for n, a in rows[1].items()}
    rows.append(loud)
    batch = {n: np.concatenate([r[n] for r in rows], axes[n]) if n in axes else rows[0][n] for n in rows[0]}
    together = answers(session, batch)
    for number, row in enumerate(rows[:4]):
        for output, answer in answers(session, row).items():
            assert together[output].shape[axes[output]] == len(rows)
            part = np.take(together[output], [number], axes[output])
            assert apart(answer, part) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", LENGTHS)
def test_padding_changes_answers(name: str) -> None:
    if name == "ocr-cls":
        needs_fonts()
    session = session_of(name)
    feed = real(name).feeds(1)[0]
    before = answers(session, feed)
    for name_, axis, by in LENGTHS[name]:
        pads = [(0, by if a == axis else 0) for a in range(feed[name_].ndim)]
        after = answers(session, {**feed, name_: np.pad(feed[name_], pads)})
        changed = [
            apart(a, after[n][tuple(slice(k) for k in a.shape)])
            for n, a in before.items()
            if a.dtype.kind == "f"
        ]
        assert max(changed) > 1e-3, (name_, axis)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minilm", "minilm-int8"])
def test_masked_padding_changes_nothing(name: str) -> None:
    session = session_of(name)
    feed = real(name).feeds(1)[0]
    before = answers(session, feed)
    after = answers(session, {n: np.pad(a, [(0, 0), (0, 9)]) for n, a in feed.items()})
    for output, answer in before.items():
        assert apart(answer, after[output][tuple(slice(k) for k in answer.shape)]) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ddddocr-old", "ddddocr"])
def test_declared_shapes_that_are_wrong(name: str) -> None:
    session = session_of(name)
    feed = real(name).feeds(1)[0]
    wide = {n: np.concatenate([a, a], 3) for n, a in feed.items()}
    shapes = [answers(session, f)["387"].shape for f in (feed, wide)]
    assert list(session.get_outputs()[0].shape) == [1, "seqlen"]
    assert all(len(s) == 3 and s[1:] == (1, 8210) for s in shapes)
    assert shapes[0][0] != shapes[1][0]

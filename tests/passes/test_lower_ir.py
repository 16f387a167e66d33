from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto as T

from hotlap.errors import UsageError
from hotlap.passes.draft import Draft
from hotlap.passes.lower_ir import LowerIr, needed_ir
from hotlap.passes.step import apply
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed
from tests.real import real


def test_the_header_alone_changes(tmp_path: Path) -> None:
    model = tiny.mlp()
    model.ir_version = 14
    draft = draft_of(model, tmp_path)
    lower = apply(draft, [LowerIr()]).draft
    assert lower.proto.ir_version == 8
    assert lower.proto.graph == draft.proto.graph
    feed = rng_feed(x=(2, 16))
    assert_same(answers(draft, feed, tmp_path), answers(lower, feed, tmp_path))
    assert apply(lower, [LowerIr()]).draft is lower
    assert apply(draft, [LowerIr(5)]).draft.proto.ir_version == 5


def test_what_the_file_uses_decides(tmp_path: Path) -> None:
    assert needed_ir(draft_of(tiny.add(), tmp_path)) == 3
    assert needed_ir(draft_of(tiny.mlp(), tmp_path)) == 4
    assert needed_ir(draft_of(tiny.identity(T.FLOAT8E4M3FN, opset=19), tmp_path)) == 9
    assert needed_ir(draft_of(tiny.identity(T.INT4, opset=21), tmp_path)) == 10
    function = tiny.mlp()
    function.functions.add(name="f", domain="d")
    draft = draft_of(function, tmp_path)
    with pytest.raises(UsageError, match="holds functions, which need IR version 8"):
        apply(draft, [LowerIr(7)])
    with pytest.raises(UsageError, match="start at 3"):
        LowerIr(2)


def test_a_real_model(tmp_path: Path) -> None:
    model = real("ocr6-rec")
    draft = Draft.load(model.path)
    assert draft.proto.ir_version == 10
    lower = apply(draft, [LowerIr()]).draft
    assert lower.proto.ir_version == 8
    onnx.checker.check_model(lower.proto)
    (feed,) = model.feeds(1)
    assert_same(answers(draft, feed, tmp_path), answers(lower, feed, tmp_path))

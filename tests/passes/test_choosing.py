from __future__ import annotations

import pytest

from hotlap.errors import UsageError
from hotlap.passes import FIXES, PASSES, fix_for, named_pass
from hotlap.passes.bind_axes import BindAxes
from hotlap.passes.choosing import SPELT
from hotlap.passes.convert_opset import ConvertOpset
from hotlap.passes.cut import Cut
from hotlap.passes.external_weights import ExternalWeights
from hotlap.passes.flush_denormals import FlushDenormals
from hotlap.passes.fold import Fold
from hotlap.passes.fuse import Fuse
from hotlap.passes.lower_ir import LowerIr
from hotlap.passes.mend_batch import MendBatch
from hotlap.passes.rename import Rename


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("fold", Fold()),
        ("fuse", Fuse("basic")),
        ("fuse:extended", Fuse("extended")),
        ("bind-axes:batch=1,x[2]=64", BindAxes({"batch": 1, "x[2]": 64})),
        ("cut", Cut()),
        ("cut:a,b", Cut(("a", "b"))),
        ("cut:a,inputs=drop", Cut(("a",), "drop")),
        ("cut:inputs=drop", Cut(None, "drop")),
        ("rename:onnx::Shape_1=y,a=b", Rename({"onnx::Shape_1": "y", "a": "b"})),
        ("convert-opset:17", ConvertOpset(17)),
        ("lower-ir", LowerIr()),
        ("lower-ir:7", LowerIr(7)),
        ("external-weights", ExternalWeights()),
        ("external-weights:0", ExternalWeights(0)),
    ],
)
def test_as_the_command_line_spells_them(text: str, made: object) -> None:
    assert named_pass(text) == made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("fuze", 'no pass "fuze".*did you mean "fuse"'),
        ("fold:hard", "fold: it takes no argument, got 'hard'"),
        ("bind-axes:batch", "'batch' is not of the form A=B"),
        ("bind-axes:batch=many", "'many' is no whole number"),
        ("convert-opset", "'' is no whole number"),
        ("fuse:all", 'no level "all"'),
    ],
)
def test_what_makes_no_sense(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        named_pass(text)


def test_every_spelling_that_is_shown_is_read() -> None:
    for name, spelt in SPELT.items():
        assert all(named_pass(text).name == name for text in spelt)


def test_every_fix_is_a_pass() -> None:
    for code in FIXES:
        assert fix_for(code).name in PASSES
    assert fix_for("hl101") == MendBatch() and fix_for("HL202") == FlushDenormals()
    with pytest.raises(UsageError, match='no pass mends "HL999"'):
        fix_for("HL999")

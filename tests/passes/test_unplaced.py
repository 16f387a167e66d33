"""What is told of temporary files names the pass or the side, and no place that nobody has heard of."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hotlap.errors import HotlapError, InputError, ModelError, TargetFailed
from hotlap.passes import Draft, Passed, mend_batch, named_pass, optimize, tools
from hotlap.passes.proof import prove, single_rows_agree
from hotlap.passes.soundness import check_source
from hotlap.passes.unplaced import unplaced
from tests import tiny
from tests.passes.asking import draft_of, rng_feed
from tests.passes.test_fold import shape_arithmetic
from tests.passes.test_optimising import QUICK, Wrong


class Broken(Wrong):
    """A pass that writes an operator which no runtime has."""

    name = "broken"

    def __call__(self, draft: Draft) -> Passed:
        return Passed(broken(draft), ("broke it",))


def broken(draft: Draft) -> Draft:
    proto = draft.copy()
    proto.graph.node[0].op_type = "NoSuchOperator"
    return draft.edited(proto)


def refused(folder: Path, *passes: Any, **given: Any) -> str:
    path = tiny.save(tiny.mlp(), folder / "m.onnx")
    try:
        return optimize(path, passes, measure=False, **given).reason
    except HotlapError as error:
        return str(error)


def nowhere(told: str, folder: Path) -> bool:
    """No temporary folder is in it: neither the system's nor one beside the user's file."""
    return "hotlap-" not in told and tempfile.gettempdir() not in told and str(folder) not in told


@pytest.mark.parametrize(
    ("passes", "told"),
    [
        ((Broken(),), "the result does not run: ONNX Runtime does not load it: "),
        ((named_pass("rename:x=z"), Broken()), "the result does not run: ONNX Runtime does not load it: "),
        ((Broken(), named_pass("fuse:extended")), "fuse: ONNX Runtime does not load it: "),
        ((Broken(), named_pass("half")), "ranges: ONNX Runtime does not load it: "),
        ((Broken(), named_pass("external-weights:0")), "the result does not run: ONNX Runtime does not"),
    ],
    ids=["the result", "asked by other names", "a pass after it", "half", "with weights outside"],
)
@pytest.mark.parametrize("out", ["out.onnx", None])
def test_a_refusal_names_the_pass_or_the_result(
    passes: tuple[Any, ...], told: str, out: str | None, tmp_path: Path
) -> None:
    given = {"data": [rng_feed(x=(1, 16))]} if passes[-1].name == "half" else {}
    why = refused(tmp_path, *passes, out=None if out is None else tmp_path / out, **given)
    assert why.startswith(told) and "NoSuchOperator" in why
    assert nowhere(why, tmp_path)


@pytest.mark.parametrize("out", ["out.onnx", None])
def test_what_is_kept_of_the_measurement_names_the_file_that_was_asked_for(
    out: str | None, tmp_path: Path
) -> None:
    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    asked = None if out is None else tmp_path / out
    found = optimize(path, [named_pass("rename:y=z")], asked, workload=QUICK)
    assert found.comparison is not None
    assert found.comparison.a.target.model == str(path)
    assert found.comparison.b.target.model == ("" if asked is None else str(asked))


def test_a_source_under_other_outputs_that_does_not_run(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    cut = named_pass("cut:h")(draft).draft
    source = draft_of(broken(draft).proto, tmp_path, "source.onnx")
    folder = tmp_path / "written"
    folder.mkdir()
    with pytest.raises(TargetFailed, match=r"^source: ONNX Runtime does not load it: ") as caught:
        prove(source, cut, cut.lay(folder), [rng_feed(x=(1, 16))], "exact", generated=True)
    assert nowhere(str(caught.value), tmp_path)


def test_many_rows_that_do_not_run(tmp_path: Path) -> None:
    draft = draft_of(tiny.mlp(), tmp_path)
    with pytest.raises(TargetFailed, match=r"^many rows: ONNX Runtime does not load it: ") as caught:
        single_rows_agree(draft, broken(draft), [rng_feed(x=(1, 16))], {"y": 0})
    assert nowhere(str(caught.value), tmp_path)
    told = mend_batch.rows_lost(broken(draft))
    assert told.startswith("several rows do not run: feeds: ONNX Runtime does not load it: ")
    assert nowhere(told, tmp_path)


def test_a_source_that_does_not_load_is_named_itself(tmp_path: Path) -> None:
    draft = broken(draft_of(tiny.mlp(), tmp_path))
    told = f"^{draft.path}: ONNX Runtime does not load it: .*NoSuchOperator"
    with pytest.raises(ModelError, match=told) as caught:
        check_source(draft)
    assert nowhere(str(caught.value), tmp_path)


@pytest.mark.usefixtures("here")
def test_what_a_tool_wrote_and_nobody_can_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("scribbling_tool")
    module.tool = lambda source, result: result.write_bytes(b"\xff\xff")
    monkeypatch.setitem(sys.modules, "scribbling_tool", module)
    monkeypatch.setitem(tools.TOOLS, "fold", "scribbling_tool")
    told = r"^fold: what it wrote cannot be read: .*; nothing was kept$"
    with pytest.raises(ModelError, match=told) as caught:
        tools.rewritten("fold", draft_of(tiny.mlp(), tmp_path))
    assert nowhere(str(caught.value), tmp_path)


def test_other_files_keep_their_names_and_causes_are_told_alike(tmp_path: Path) -> None:
    cause = InputError([f"one of {tmp_path}/feeds/0.npz", "two"])
    with pytest.raises(TargetFailed) as caught, unplaced(tmp_path):
        raise TargetFailed(f"side: {tmp_path}/a/m.onnx: no: {tmp_path}/w.data, {tmp_path}") from cause
    assert str(caught.value) == "side: no: w.data, a temporary folder"
    assert cause.problems == ["one of feeds/0.npz", "two"] and str(cause) == "one of feeds/0.npz\ntwo"

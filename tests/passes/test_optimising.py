from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from hotlap.bench import Workload
from hotlap.errors import HotlapError, UsageError
from hotlap.passes import Draft, Passed, Step, judging, named_pass, optimize
from hotlap.passes.step import Aim
from hotlap.runtime import file_digest
from tests import tiny
from tests.passes.asking import answers, assert_same, draft_of, rng_feed
from tests.passes.test_fold import shape_arithmetic
from tests.passes.test_judging import agreed
from tests.passes.test_remove_zipmap import with_zipmap

pytestmark = pytest.mark.usefixtures("here")
QUICK = Workload(processes=2, seconds=0.05, warmup=0.01)


def done(path: Path, *passes: str, out: str = "out.onnx", **given: Any) -> Any:
    chosen = [named_pass(p) for p in passes] or None
    return optimize(path, chosen, path.parent / out, measure=False, **given)


class Wrong:
    """A pass that changes an answer."""

    name = "wrong"
    aim: Aim = "speed"

    def requires(self, draft: Draft) -> str:
        return ""

    def __call__(self, draft: Draft) -> Passed:
        proto = draft.copy()
        proto.graph.initializer[3].raw_data = np.full(4, 0.1, np.float32).tobytes()
        return Passed(draft.edited(proto), ("changed a weight",))

    def ensures(self, before: Draft, after: Draft) -> str:
        return ""


def test_a_better_file_is_written_with_where_it_came_from(tmp_path: Path) -> None:
    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    found = optimize(path, None, tmp_path / "out.onnx", workload=QUICK)
    assert found.written and found.out == str(tmp_path / "out.onnx") and found.reason == ""
    assert found.verdict is not None and found.verdict.passed and found.verdict.generated
    assert found.comparison is not None and found.not_measured == ""
    assert (found.nodes, found.steps[-1].nodes) == (5, 1)
    assert found.digest == file_digest(tmp_path / "out.onnx")
    entries = {e.key: e.value for e in onnx.load(tmp_path / "out.onnx").metadata_props}
    assert entries["hotlap.source"] == file_digest(path)
    assert json.loads(entries["hotlap.passes"]) == ["fold"]
    assert "onnx" in json.loads(entries["hotlap.versions"])
    assert entries["hotlap.target"] == "any runtime of ONNX"
    feed = rng_feed(x=(2, 2, 4))
    before, after = Draft.load(path), Draft.load(tmp_path / "out.onnx")
    assert_same(answers(before, feed, tmp_path), answers(after, feed, tmp_path))


def test_no_change_writes_nothing(tmp_path: Path) -> None:
    found = done(tiny.save(tiny.mlp(), tmp_path / "m.onnx"))
    assert not found.written and found.reason == "no pass changed anything"
    assert found.verdict is None and found.digest == found.source_digest
    assert {p.name for p in tmp_path.iterdir()} == {"m.onnx"}


def test_another_answer_writes_nothing_and_says_where(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    (tmp_path / "out.onnx").write_bytes(b"old")
    found = optimize(path, [Wrong()], tmp_path / "out.onnx", measure=False, force=True)
    assert not found.written and 'the answers differ: exact: output "y"' in found.reason
    assert found.changed and found.verdict is not None and not found.verdict.passed
    assert (tmp_path / "out.onnx").read_bytes() == b"old"
    assert {p.name for p in tmp_path.iterdir()} == {"m.onnx", "out.onnx"}


def test_the_sources_weights_stay_where_its_copy_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "prove", agreed)
    tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    (tmp_path / "sub").mkdir()
    done(tmp_path / "m.onnx", "external-weights:0", out="sub/out.onnx")
    (weights,) = (tmp_path / "sub").glob("*.data")
    source = onnx.load(tmp_path / "sub" / "out.onnx", load_external_data=False)
    for tensor in source.graph.initializer:
        for entry in tensor.external_data:
            entry.value = entry.value.replace(weights.name, f"sub/{weights.name}")
    done(tiny.save(source, tmp_path / "src.onnx"), "cut:h", out="sub/out.onnx", force=True)
    assert weights.is_file()


def test_a_result_carries_no_weights_that_nothing_reads(tmp_path: Path) -> None:
    from tests.passes.test_mend_batch import constant_target

    for number, (made, spelt) in enumerate(
        ((constant_target("batch", [1, -1], ["batch", 8]), "mend-batch"), (shape_arithmetic(), "fold"))
    ):
        path, out = tiny.save(made, tmp_path / f"m{number}.onnx"), f"out{number}.onnx"
        assert done(path, spelt, out=out).written
        assert unread(onnx.load(tmp_path / out)) == []


def test_dead_weights_that_passes_leave_are_told(tmp_path: Path) -> None:
    class Leaves(Wrong):
        def __call__(self, draft: Draft) -> Passed:
            proto = draft.copy()
            proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(3), "left"))
            proto.doc_string = "changed"
            return Passed(draft.edited(proto), ("changed it",))

    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    found = optimize(path, [Leaves()], tmp_path / "out.onnx", measure=False)
    assert found.steps[0].notes == ("changed it", "1 weight that nothing reads is gone")
    assert unread(onnx.load(tmp_path / "out.onnx")) == []


def unread(model: onnx.ModelProto) -> list[str]:
    read = {v for n in model.graph.node for v in n.input} | {v.name for v in model.graph.output}
    return [t.name for t in model.graph.initializer if t.name not in read]


def test_other_names_are_proved_and_not_measured(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    found = optimize(path, [named_pass("rename:x=features")], tmp_path / "out.onnx")
    assert found.written and found.comparison is None
    assert found.not_measured == "source and result are not asked alike: their inputs have other names"


def test_several_passes_in_a_row_are_proved_together(tmp_path: Path) -> None:
    model = with_zipmap(tiny.mlp(), "y", ["a", "b", "c", "d"])
    path = tiny.save(model, tmp_path / "m.onnx")
    found = done(path, "remove-zipmap", "rename:maps=scores", "bind-axes:batch=2", "external-weights:0")
    assert found.written and found.verdict.passed
    out = Draft.load(tmp_path / "out.onnx")
    assert out.output_names == ("scores",) and len(out.files) == 1


def test_without_a_file_to_write_everything_else_is_done(tmp_path: Path) -> None:
    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    found = optimize(path, measure=False)
    assert found.reason == "no file was asked for (-o)" and found.verdict is not None
    assert {p.name for p in tmp_path.iterdir()} == {"m.onnx"}


def test_the_users_inputs_judge(tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    feeds = [rng_feed(n, x=(1, 16)) for n in range(70)]
    found = done(path, "fuse:extended", data=feeds, level="close")
    assert found.written and not found.verdict.generated and found.verdict.rows == 70


def test_a_mended_batch_is_judged_by_single_rows(tmp_path: Path) -> None:
    from tests.passes.test_mend_batch import constant_target

    path = tiny.save(constant_target("batch", [1, -1], ["batch", 8]), tmp_path / "m.onnx")
    found = done(path, "mend-batch", data=[rng_feed(x=(5, 8))])
    assert found.written and found.verdict.rows == 5


def with_listed_weights(ir: int) -> onnx.ModelProto:
    """A model that `fold` gives a new weight, with its weights among the inputs."""
    model = shape_arithmetic()
    model.graph.input.extend(tiny.info(t.name, t.data_type, t.dims) for t in model.graph.initializer)
    model.ir_version = ir
    return model


def test_new_weights_raise_an_ir_version_that_wants_them_among_the_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "prove", agreed)
    path = tiny.save(with_listed_weights(3), tmp_path / "m.onnx")
    found = done(path, "fold")
    assert found.steps[-1].notes[-1] == "IR version 3 became 4, the first with weights that are no inputs"
    made = onnx.load(tmp_path / "out.onnx")
    assert made.ir_version == 4
    onnx.checker.check_model(made)


def test_an_ir_version_that_was_asked_for_is_not_raised(tmp_path: Path) -> None:
    path = tiny.save(with_listed_weights(8), tmp_path / "m.onnx")
    with pytest.raises(
        UsageError, match=r"lower-ir: the file holds weights that are no inputs.*a pass after"
    ):
        done(path, "lower-ir:3", "fold")


def test_the_source_is_never_replaced(tmp_path: Path) -> None:
    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    with pytest.raises(UsageError, match="is the model that is read"):
        optimize(path, None, path, force=True)


def test_an_interrupt_while_it_is_proved_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    (tmp_path / "out.onnx").write_bytes(b"old")
    monkeypatch.setattr(judging, "prove", interrupted)
    with pytest.raises(KeyboardInterrupt):
        done(path, force=True)
    assert {p.name for p in tmp_path.iterdir()} == {"m.onnx", "out.onnx"}
    assert (tmp_path / "out.onnx").read_bytes() == b"old"


def test_a_result_that_does_not_load_is_refused(tmp_path: Path) -> None:
    class Broken(Wrong):
        def __call__(self, draft: Draft) -> Passed:
            proto = draft.copy()
            proto.graph.node[0].op_type = "NoSuchOperator"
            return Passed(draft.edited(proto), ("broke it",))

    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    found = optimize(path, [Broken()], tmp_path / "out.onnx", measure=False)
    assert not found.written and found.verdict is not None and found.verdict.inputs == 0
    assert found.reason.startswith("the result does not run: ONNX Runtime does not load it: ")
    assert "NoSuchOperator" in found.reason
    assert isinstance(found.steps[0], Step) and draft_of(tiny.mlp(), tmp_path)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"data": [{"y": np.zeros((1, 16), np.float32)}]},
            'feed 1: input "y": the model has no input of that',
        ),
        ({"data": [rng_feed(x=(1, 16)), {"x": np.zeros((1, 16))}]}, 'feed 2: input "x": got float64'),
        ({"data": [rng_feed(x=(1, 8))]}, "axis 1 has size 8, expected 16"),
        ({"data": []}, "there are no inputs in it"),
        ({"scores": {"z": 1}}, 'scores: no output "z".*there are y'),
        ({"scores": {"y": 5}}, "there is no axis 5"),
        ({"level": "good"}, "good"),
    ],
)
def test_arguments_that_do_not_fit_write_nothing(given: dict[str, Any], told: str, tmp_path: Path) -> None:
    path = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    with pytest.raises(HotlapError, match=told):
        done(path, "fuse:extended", **given)
    assert {p.name for p in tmp_path.iterdir()} == {"m.onnx"}


def test_a_file_format_that_is_not_read_here_is_compared_by_its_graph(tmp_path: Path) -> None:
    model = tiny.mlp()
    model.ir_version = 99
    path = tiny.save(model, tmp_path / "m.onnx")
    found = optimize(path, [named_pass("lower-ir")], tmp_path / "out.onnx")
    assert found.written and found.not_measured == "the source does not load here"
    assert "whose IR version is 99; its graph was compared under IR version 8" in found.verdict.notes[0]


def test_an_input_that_was_dropped_is_still_asked_of_the_source(tmp_path: Path) -> None:
    model = tiny.add()
    model.graph.input.append(tiny.info("unread", onnx.TensorProto.FLOAT, ["N", 2]))
    path = tiny.save(model, tmp_path / "m.onnx")
    found = done(path, "cut:inputs=drop")
    assert found.written and Draft.load(tmp_path / "out.onnx").input_names == ("x",)
    data = [{**rng_feed(x=(2, 4)), "unread": np.zeros((2, 2), np.float32)}]
    assert done(path, "cut:inputs=drop", data=data, force=True).written

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap.bench import Target
from hotlap.errors import TargetFailed, UsageError
from hotlap.verify import bisect, first_not_finite
from tests import tiny
from tests.real import real
from tests.verify.faults import places, planted_at, shows


def inputs(count: int = 3) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [{"x": rng.standard_normal((2, 16), np.float32)} for _ in range(count)]


@pytest.fixture
def mlp(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "mlp.onnx")


def test_a_model_agrees_with_itself_at_every_node(mlp: Path) -> None:
    walked = bisect(Target.default(mlp), Target.default(mlp), inputs())
    assert walked.found is None and (walked.compared, walked.values, walked.by) == (3, 3, "name")


def test_the_first_node_that_differs_is_named_with_what_it_reads(mlp: Path, tmp_path: Path) -> None:
    wrong = tiny.mlp()
    second = wrong.graph.initializer[2]
    second.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(second) * np.float32(1.1), second.name))
    found = bisect(Target.default(mlp), Target.default(tiny.save(wrong, tmp_path / "w.onnx")), inputs()).found
    assert found is not None
    assert (found.kind, found.value, found.node) == ("differs", "y", 'Gemm "→ y"')
    assert found.share > 1000 * found.noise > 0
    assert [(seen.name, seen.agrees) for seen in found.inputs] == [("r", True), ("w2", False), ("b2", True)]
    assert "128 of 128 values differ" in found.inputs[1].said


def test_rounding_is_no_difference(mlp: Path, tmp_path: Path) -> None:
    """The same sums in another order: x W1 + b1 as one node or as two."""
    split = tiny.mlp()
    del split.graph.node[0]
    split.graph.node.insert(0, tiny.node("MatMul", ["x", "w1"], ["product"]))
    split.graph.node.insert(1, tiny.node("Add", ["b1", "product"], ["h"]))
    walked = bisect(Target.default(mlp), Target.default(tiny.save(split, tmp_path / "s.onnx")), inputs())
    assert walked.found is None and walked.compared == 3


def test_a_fault_in_either_branch_is_found_where_it_is_taken(tmp_path: Path) -> None:
    right = tiny.save(tiny.branch(), tmp_path / "right.onnx")
    wrong = tiny.branch()
    wrong.graph.node[2].attribute[0].g.node[0].op_type = "Abs"  # the else branch, for Neg
    faulty = Target.default(tiny.save(wrong, tmp_path / "wrong.onnx"))
    down, up = ([{"x": sign * np.array([1, 2], np.float32)}] for sign in (-1, 1))
    assert bisect(Target.default(right), faulty, up).found is None
    # Abs and Neg are equal below 0, so the fault needs one value above it.
    mixed = [{"x": np.array([-5, 2], np.float32)}]
    found = bisect(Target.default(right), faulty, mixed).found
    assert found is not None and found.node == 'If "→ y" / else_branch / Neg "→ e"'
    assert found.other == 'If "→ y" / else_branch / Abs "→ e"'
    assert (found.before, found.after, found.place) == ("-2", "2", "[1]")
    assert bisect(Target.default(right), faulty, down).found is None


def test_a_fault_in_the_body_of_a_loop_and_in_a_function_is_found(tmp_path: Path) -> None:
    def looped(factor: str) -> onnx.ModelProto:
        body = helper.make_graph(
            [tiny.node("Identity", ["go"], ["on"]), tiny.node("grow", ["a", factor], ["b"], domain="own")],
            "body",
            [tiny.info("i", T.INT64, []), tiny.info("go", T.BOOL, []), tiny.info("a", T.FLOAT, ["N"])],
            [tiny.info("on", T.BOOL, []), tiny.info("b", T.FLOAT, ["N"])],
        )
        model = tiny.model(
            [tiny.node("Loop", ["n", "", "x"], ["y"], body=body, name="again")],
            [tiny.info("x", T.FLOAT, ["N"])],
            [tiny.info("y", T.FLOAT, ["N"])],
            {"n": np.array(3), "two": np.float32(2), "three": np.float32(3)},
        )
        grow = [tiny.node("Mul", ["v", "w"], ["o"])]
        opset = helper.make_opsetid("", 17)
        model.functions.append(helper.make_function("own", "grow", ["v", "w"], ["o"], grow, [opset]))
        model.opset_import.append(helper.make_opsetid("own", 1))
        return model

    two, three = (tiny.save(looped(f), tmp_path / f"{f}.onnx") for f in ("two", "three"))
    found = bisect(Target.default(two), Target.default(three), [{"x": np.ones(2, np.float32)}]).found
    assert found is not None and found.node.startswith('Loop "again" / body / Mul')
    assert (found.before, found.after) == ("8", "27")


def test_renamed_values_are_found_by_their_place(mlp: Path, tmp_path: Path) -> None:
    wrong = tiny.mlp()
    for node in wrong.graph.node:
        for names in (node.input, node.output):
            names[:] = [{"h": "n1", "r": "n2"}.get(name, name) for name in names]
    wrong.graph.node[1].op_type = "Abs"
    walked = bisect(Target.default(mlp), Target.default(tiny.save(wrong, tmp_path / "w.onnx")), inputs())
    assert walked.by == "position" and walked.compared == 2
    assert walked.found is not None and walked.found.value == "r"
    assert walked.found.other == 'Abs "→ n2"'


def test_another_shape_and_nan_are_found(mlp: Path, tmp_path: Path) -> None:
    narrow = tiny.save(tiny.mlp(hidden=8), tmp_path / "narrow.onnx")
    found = bisect(Target.default(mlp), Target.default(narrow), inputs()).found
    assert found is not None and (found.kind, found.before, found.after) == (
        "form",
        "float32[2, 32]",
        "float32[2, 8]",
    )
    odd = tiny.mlp()
    odd.graph.node[1].op_type = "Log"
    found = bisect(Target.default(mlp), Target.default(tiny.save(odd, tmp_path / "o.onnx")), inputs()).found
    assert found is not None and (found.kind, found.value, found.after) == ("not finite", "r", "nan")


def test_the_first_value_that_is_no_number_is_found_in_one_model(tmp_path: Path) -> None:
    nodes = [
        tiny.node("Sub", ["x", "far"], ["masked"]),  # -inf, as masks are written
        tiny.node("Exp", ["masked"], ["zero"]),
        tiny.node("Log", ["x"], ["log"]),
        tiny.node("Add", ["log", "zero"], ["y"]),
    ]
    values = [tiny.info(name, T.FLOAT, ["N"]) for name in ("x", "y")]
    model = tiny.model(nodes, values[:1], values[1:], {"far": np.array([np.inf], np.float32)})
    target = Target.default(tiny.save(model, tmp_path / "m.onnx"))
    walked = first_not_finite(target, [{"x": np.array([1.0, -1.0], np.float32)}])
    assert walked.found is not None
    assert (walked.found.node, walked.found.place, walked.found.after) == ('Log "→ log"', "[1]", "nan")
    assert first_not_finite(target, [{"x": np.array([1.0, 2.0], np.float32)}]).found is None


def test_what_the_first_node_reads_is_told_by_its_numbers(tmp_path: Path) -> None:
    broken = np.ones((3, 2), np.float32)
    broken[1, 0] = np.nan
    nodes = [tiny.node("MatMul", ["x", "w"], ["m"]), tiny.node("Add", ["m", "b"], ["y"])]
    declared = [tiny.info("x", T.FLOAT, ["N", 3]), tiny.info("y", T.FLOAT, ["N", 2])]
    weights = {"w": broken, "b": np.ones(2, np.float32)}
    target = Target.default(
        tiny.save(tiny.model(nodes, declared[:1], declared[1:], weights), tmp_path / "m.onnx")
    )
    found = first_not_finite(target, [{"x": np.ones((1, 3), np.float32)}]).found
    assert found is not None and found.value == "m"
    assert [(seen.name, seen.agrees, seen.said) for seen in found.inputs] == [
        ("x", True, "finite"),
        ("w", False, "a weight: 1 of 6 values not finite, the first[1, 0]: nan"),
    ]
    given = np.full((1, 3), np.inf, np.float32)
    found = first_not_finite(target, [{"x": given}]).found
    assert found is not None
    assert (found.inputs[0].agrees, found.inputs[0].said) == (
        False,
        "given from outside, and not finite there",
    )


def test_weights_in_files_beside_the_model_are_taken_along(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one, two = tiny.mlp_external(tmp_path / "a"), tiny.mlp_external(tmp_path / "b")
    data = two.parent / "model.onnx.data"
    raw = bytearray(data.read_bytes())
    raw[:4] = np.float32(9).tobytes()
    data.write_bytes(raw)
    found = bisect(Target.default(one), Target.default(two), inputs()).found
    assert found is not None and found.value == "h"
    assert "1 of 512 values differ, the first[0, 0]" in found.inputs[1].said


def test_what_cannot_be_walked_is_refused(mlp: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no nodes to walk"):
        bisect(Target.default(mlp), Target.calling("a:b"), inputs())
    with pytest.raises(UsageError, match="no inputs"):
        bisect(Target.default(mlp), Target.default(mlp), [])
    with pytest.raises(TargetFailed, match=r"no\.onnx"):
        bisect(Target.default(mlp), Target.default(tmp_path / "no.onnx"), inputs())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minilm", "silero"])
def test_a_fault_at_any_of_ten_random_nodes_is_found(name: str, tmp_path: Path) -> None:
    model = real(name)
    path = model.path.resolve()
    feeds = model.feeds(2)
    found = 0
    for place in places(path, seed=7):
        copy, label = planted_at(path, place, tmp_path / "wrong.onnx")
        if not shows(path, copy, feeds):  # in a branch that is not taken, say, or times 0
            continue
        walked = bisect(Target.default(path), Target.default(copy), feeds)
        assert walked.found is not None, f"{label} was not found"
        assert walked.found.node == label, f"{place}: {walked.found.label}"
        found += 1
        if found == 10:
            break
    assert found == 10

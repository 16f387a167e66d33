"""From a finding to the file that no longer has it: `inspect` names the command, and the command does it."""

from __future__ import annotations

import ast
import functools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from hotlap import inspect as room
from hotlap.cli import main
from hotlap.inspect import RULES, Finding, Inspection, inspect
from hotlap.passes import FIXES
from tests import tiny
from tests.inspect.commands import COMMAND, mended_by
from tests.inspect.fusions import graphs
from tests.passes.test_mend_batch import constant_target

pytestmark = pytest.mark.usefixtures("all_here")
Make = Callable[[], onnx.ModelProto]
Planted = Callable[[int], tuple[Path, Inspection]]


def weights_of(values: Any, *, op: str = "Mul", size: Any = ("n", 512)) -> onnx.ModelProto:
    """y = x combined with weights in a row; x: float32[size]."""
    names = [f"w{number}" for number in range(len(values))]
    steps = ["x", *(f"h{number}" for number in range(len(values) - 1)), "y"]
    nodes = [tiny.node(op, [steps[n], name], [steps[n + 1]]) for n, name in enumerate(names)]
    declared = [tiny.info(name, T.FLOAT, size) for name in ("x", "y")]
    return tiny.model(nodes, declared[:1], declared[1:], dict(zip(names, values, strict=True)))


def denormal() -> onnx.ModelProto:
    return weights_of([np.array([1, 1e-39], np.float32)], size=("n", 2))


def of_opset(version: int) -> onnx.ModelProto:
    made = tiny.mlp()
    made.opset_import[0].version = version
    return made


def of_ir(version: int) -> onnx.ModelProto:
    made = tiny.mlp()
    made.ir_version = version
    return made


def overridable() -> onnx.ModelProto:
    made = tiny.mlp()
    made.graph.input.append(tiny.info("w1", T.FLOAT, [16, 32]))
    return made


def dead_node(inside: str = "") -> onnx.ModelProto:
    """A node that leads nowhere: in the graph, in a branch, or in a function."""
    made = tiny.branch() if inside == "branch" else tiny.add()
    dead = tiny.node("Neg", ["x"], ["nowhere"], name="dead")
    if inside == "function":
        body = [tiny.node("Neg", ["a"], ["nothing"], name="dead"), tiny.node("Abs", ["a"], ["b"])]
        opsets = [helper.make_opsetid("", 17)]
        made.functions.append(helper.make_function("own", "Positive", ["a"], ["b"], body, opsets))
        made.opset_import.append(helper.make_opsetid("own", 1))
        made.graph.node[0].output[0] = "sum"
        made.graph.node.append(tiny.node("Positive", ["sum"], ["y"], domain="own"))
    else:
        graph = made.graph.node[2].attribute[0].g if inside == "branch" else made.graph
        graph.node.append(dead)
    return made


def dead_weight() -> onnx.ModelProto:
    made = tiny.mlp()
    made.graph.initializer.append(numpy_helper.from_array(np.zeros(3, np.float32), "dead"))
    return made


def fixed_condition(computed: bool = False) -> onnx.ModelProto:
    """An `If` whose condition is a weight, or follows from one."""
    made = tiny.branch()
    del made.graph.node[:2]
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array(True), "sure"))
    if computed:
        made.graph.node.insert(0, tiny.node("Not", ["sure"], ["positive"]))
    else:
        made.graph.node[0].input[0] = "sure"
    return made


def uniform(kind: str = "weight") -> onnx.ModelProto:
    made = weights_of([np.full((512, 512), 0.5, np.float32)], op="MatMul")
    if kind == "constant":
        tensor = made.graph.initializer.pop()
        made.graph.node.insert(0, tiny.node("Constant", [], ["w0"], value=tensor))
    return made


def equal(kind: str = "weights") -> onnx.ModelProto:
    made = weights_of([np.arange(1 << 13, dtype=np.float32) / 1000] * 3, op="Add", size=("n", 1 << 13))
    if kind == "constants":
        for tensor in list(made.graph.initializer):
            made.graph.node.insert(0, tiny.node("Constant", [], [tensor.name], value=tensor))
        del made.graph.initializer[:]
    return made


def unread_input() -> onnx.ModelProto:
    made = tiny.add()
    made.graph.input.append(tiny.info("unread", T.FLOAT, ["N"]))
    return made


MODELS: list[tuple[str, str, Make, dict[str, Any]]] = [
    ("HL101", "constant", lambda: constant_target("batch", [1, 2, 4], ["batch", 2, 4]), {}),
    ("HL101", "silent", lambda: constant_target("batch", [1, -1], ["batch", 8]), {}),
    ("HL101", "not run", lambda: constant_target("batch", [1, 2, 4], ["batch", 2, 4]), {"probe": False}),
    ("HL103", "reshape", lambda: constant_target(1, [1, 2, 4], [1, 2, 4]), {}),
    ("HL202", "weight", denormal, {}),
    ("HL301", "newest", lambda: of_opset(21), {"target_ort": "1.14"}),
    ("HL301", "old", lambda: of_opset(17), {"target_ort": "1.10"}),
    ("HL302", "named", lambda: of_ir(10), {"target_ort": "1.10"}),
    ("HL302", "here", lambda: of_ir(99), {}),
    ("HL401", "zipmap", tiny.zipmap, {}),
    ("HL404", "weight", overridable, {}),
    ("HL407", "graph", dead_node, {}),
    ("HL407", "branch", lambda: dead_node("branch"), {}),
    ("HL407", "function", lambda: dead_node("function"), {}),
    ("HL407", "weight", dead_weight, {}),
    ("HL408", "weight", fixed_condition, {}),
    ("HL408", "computed", lambda: fixed_condition(True), {}),
    ("HL409", "weight", uniform, {}),
    ("HL409", "constant", lambda: uniform("constant"), {}),
    ("HL410", "weights", equal, {}),
    ("HL410", "constants", lambda: equal("constants"), {}),
    ("HL413", "input", unread_input, {}),
    ("HL515", "second reader", lambda: graphs.skip_layer_norm().read("a").model(), {}),
    ("HL515", "output", lambda: graphs.skip_layer_norm().out("a").model(), {}),
    ("HL516", "half first", lambda: graphs.gelu("half first").model(), {}),
    ("HL516", "reciprocal", lambda: graphs.gelu("reciprocal").model(), {}),
    ("HL517", "opset too high", lambda: graphs.attention(opset=17).model(), {}),
    ("HL517", "opset too low", lambda: graphs.attention(opset=8).model(), {}),
    ("HL517", "other order", lambda: graphs.attention().swapped("q_add").model(), {}),
]


def found_in(path: Path, code: str, **asked: Any) -> list[Finding]:
    return [f for f in inspect(path, **asked).findings if f.code == code]


def optimised(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The command, run; what it says as JSON."""
    with pytest.raises(SystemExit) as ended:
        main([*words, "--no-measure", "--json"])
    said = capsys.readouterr()
    assert ended.value.code == 0, said
    table: dict[str, Any] = json.loads(said.out)
    return table


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """The file of one of `MODELS`, and what is found in it; each is inspected once."""

    @functools.cache
    def inspected(number: int) -> tuple[Path, Inspection]:
        _, _, make, asked = MODELS[number]
        path = tiny.save(make(), tmp_path_factory.mktemp("planted") / "m.onnx")
        return path, inspect(path, **asked)

    return inspected


@pytest.mark.parametrize("number", range(len(MODELS)), ids=[f"{c} {n}" for c, n, *_ in MODELS])
def test_the_named_command_mends_the_finding(
    number: int, planted: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, _, asked = MODELS[number]
    (path, found), out = planted(number), tmp_path / "out.onnx"
    finding = next(f for f in found.findings if f.code == code and f.fix)
    assert (match := COMMAND.fullmatch(finding.fix)) and match[2].startswith(code), finding.fix
    places = {"MODEL": str(path), "OUT.onnx": str(out)}
    table = optimised([places.get(word, word) for word in shlex.split(finding.fix)[1:]], capsys)
    assert table["written"] and table["verdict"]["passed"], table["reason"]
    assert not [f for f in found_in(out, code, **asked) if f.fix]


def test_each_fix_has_a_model() -> None:
    assert {code for code, *_ in MODELS} == set(FIXES)


# ── and back: no other command is named ───────────────────────────────────────────────────────────────


def test_every_command_that_a_finding_names_is_one(planted: Planted) -> None:
    assert set().union(*(mended_by(planted(n)[1].findings) for n in range(len(MODELS)))) == set(FIXES)


def test_those_rules_name_it_whose_findings_a_pass_mends() -> None:
    names = set()
    for path in Path(room.__file__).parent.glob("rules/*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        uses = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)}
        if uses & {"RULE.mend", "RULE.mend_with", "MENDS"}:
            names.add(path.stem.replace("_", "-"))
    assert {rule.code for rule in RULES.values() if rule.name in names} == set(FIXES)
    for path in Path(room.__file__).parent.rglob("*.py"):
        assert set(re.findall(r"--fix (HL\d+)", path.read_text("utf-8"))) <= set(FIXES)


def test_where_no_command_mends_it_none_is_named(tmp_path: Path) -> None:
    classifier = tiny.zipmap()
    classifier.opset_import[1].version = 5
    for code, model, asked in (
        ("HL301", of_opset(999), {}),  # nothing here can run it, so nothing can be compared
        ("HL301", classifier, {"target_ort": "1.10"}),
    ):
        finding = found_in(tiny.save(model, tmp_path / "m.onnx"), code, **asked)[-1]
        assert finding.fix.startswith("export it again with "), finding

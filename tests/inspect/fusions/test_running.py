from __future__ import annotations

from dataclasses import replace

from hotlap.inspect.case import Ran, Runtime
from hotlap.inspect.fusions import running
from tests import tiny
from tests.inspect.fusions import graphs


def found(parts: graphs.Parts, level: str = "ALL"):  # type: ignore[no-untyped-def]
    model = parts.model()
    return running(graphs.case(model, graphs.executed(model, level)))


def test_nothing_is_told_where_what_ort_runs_here_says_nothing() -> None:
    whole = graphs.case(graphs.conv_activation().model())
    assert running(whole) is not None
    assert running(replace(whole, ran=None)) is None
    assert running(replace(whole, ran=Ran(refusal="no"))) is None
    assert running(replace(whole, runtime=Runtime(ort="1.20.0", named=True))) is None
    assert running(replace(whole, runtime=Runtime(ort="1.32.0", providers=("cuda", "cpu")))) is None


def test_steps_are_led_back_to_nodes_of_the_file() -> None:
    for level in ("ALL", "EXTENDED"):
        run = found(graphs.conv_activation().read("c"), level)
        labels = {step.op: run.node(step).label for step in run.executed.steps}
        assert labels == {"Conv": 'Conv "conv"', "Relu": 'Relu "act"', "Neg": 'Neg "other"'}


def test_a_conv_that_took_a_bias_in_is_led_back_to_the_conv() -> None:
    bias = tiny.node("Add", ["c", "m"], ["c_"], name="bias")
    run = found(graphs.conv_activation().between("c", "act", bias, m=graphs.normal(16, 1, 1)).read("c_"))
    conv = next(run.executed.nodes("Conv"))
    assert (conv.value, run.node(conv).label) == ("c_", 'Conv "conv"')


def test_what_ort_puts_in_leads_nowhere() -> None:
    run = found(graphs.matmul_add(2, 4, 8))
    assert [run.node(step) for step in run.executed.steps] == [None, None, None]


def test_what_still_runs_and_what_makes_a_value() -> None:
    run = found(graphs.attention(opset=13))
    softmax = next(run.source.nodes("Softmax"))
    assert run.still_runs(softmax)
    assert run.made_by(softmax.scope, "x") == "LayerNormalization"
    assert run.made_by(softmax.scope, "nothing") == ""
    fused = found(graphs.attention())
    assert not fused.still_runs(next(fused.source.nodes("Softmax")))
    assert (run.opset, fused.opset) == (13, 12)


def test_shapes_are_those_of_the_file() -> None:
    run = found(graphs.matmul_add().out("h"))
    assert run.shape(run.executed.walk.root, "h") == ("n", 16)
    assert run.scope(run.executed.walk.root) is run.file.root

from __future__ import annotations

from typing import Any

import pytest

from hotlap.errors import PlanError
from hotlap.plan import ModelRef, Plan
from hotlap.plan.checks import CHECKS, check_texts

DIGEST = "sha256:" + "0" * 64


def test_every_field_has_a_check() -> None:
    assert set(CHECKS) == set(Plan.__struct_fields__)


@pytest.mark.parametrize(
    ("field", "value", "right"),
    [
        ("providers", ["CUDAExecutionProvider", "cpu"], ("cuda", "cpu")),
        ("threads", None, None),
        ("threads", 4096, 4096),
        ("spin", "1000000us", "1000000us"),
        ("warm", [{"x": []}], ({"x": ()},)),
        ("model", None, None),
        ("model", {"path": "m.onnx", "digest": DIGEST}, ModelRef(path="m.onnx", digest=DIGEST)),
        ("custom_ops", [], ()),
    ],
)
def test_right_values_pass(field: str, value: Any, right: Any) -> None:
    assert CHECKS[field](value) == right


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("format", 0, "format: expected a whole number from 1 to 3, got the number 0"),
        ("format", "1", 'format: expected a whole number, got the text "1"'),
        ("providers", "cpu", 'providers: expected a list, got the text "cpu"; write providers = ["cpu"]'),
        ("providers", [], "providers: the list is empty"),
        ("providers", ["cudda"], 'providers: unknown provider "cudda" (did you mean "cuda"?)'),
        ("providers", ["a\nb"], r'providers: unknown provider "a\nb"'),
        ("providers", ["cuda", "CUDAExecutionProvider"], 'providers: "cuda" stands there twice'),
        ("providers", ["cpu", "cuda"], 'providers: "cpu" takes every node'),
        ("providers", [1], "providers[0]: expected a text, got the number 1"),
        (
            "threads",
            0,
            "threads: expected a whole number from 1 to 4096, got the number 0; leave threads out",
        ),
        ("threads", -1, "got the number -1"),
        ("threads", 2.0, "threads: expected a whole number, got the number 2.0"),
        ("threads", True, "threads: expected a whole number, got true"),
        ("spin", "0us", 'spin: expected "off", "on", or a time such as "100us"'),
        ("spin", "1000001us", "spin: expected"),
        ("spin", "\u0661us", "spin: expected"),
        ("spin", "100ms", 'got the text "100ms"'),
        ("spin", False, "got false"),
        ("model", {"path": "m.onnx"}, "model: digest is missing"),
        ("model", {"path": "m", "digset": DIGEST}, 'model.digset: unknown key (did you mean "digest"?)'),
        ("model", {"path": 1, "digest": DIGEST}, "model.path: expected a text, got the number 1"),
        (
            "model",
            {"path": "m", "digest": DIGEST, "external": {"w": {"size": "1", "digest": DIGEST}}},
            'model.external.w.size: expected a whole number, got the text "1"',
        ),
        (
            "model",
            {"path": "m", "digest": DIGEST, "external": {"w": {"sise": 1}}},
            "model.external.w.sise: unknown",
        ),
        ("evidence", {"baseline": "b", "ratio": 1, "low": 1}, "evidence: high is missing"),
        ("facts", {"row": "unknown"}, 'facts.row: unknown key (did you mean "rows"?)'),
        (
            "facts",
            {"rows": "independant"},
            'facts.rows: expected "independent" or "dependent" or "unknown", got the text "independant"'
            ' (did you mean "independent"?)',
        ),
        ("facts", {"rows": 1}, "facts.rows: expected"),
        ("facts", {"stuck": {}}, "facts.stuck: expected a list, got a table"),
        ("facts", {"stuck": [{"input": "x"}]}, "facts.stuck[0]: axis is missing"),
        ("facts", {"stuck": [{"input": "x", "axis": "0"}]}, "facts.stuck[0].axis: expected a whole number"),
        ("facts", {"stuck": [{"input": "x", "axis": -1}]}, "facts.stuck.axis: expected a whole number of 0"),
        (
            "facts",
            {"axes": {"x": -1}},
            "facts.axes.x: expected a whole number of 0 or more, got the number -1",
        ),
        ("facts", {"axes": {"x": True}}, "facts.axes.x: expected a whole number, got true"),
        ("facts", {"shapes": {"y": [1.5]}}, "facts.shapes.y[0]: expected a whole number or a text"),
        ("facts", {"shapes": {"y": [-1]}}, "facts.shapes.y: expected a whole number of 0 or more"),
        ("facts", {"padding": {"L": "safe"}}, "facts.padding.L: expected"),
        ("facts", {"seconds": {"1": float("nan")}}, "facts.seconds.1: expected a finite number"),
        ("facts", {"seconds": {"one": 1.0}}, "facts.seconds.one: expected a number of rows as the key"),
        ("facts", {"repeats_by": float("inf")}, "facts.repeats_by: expected a finite number"),
        ("warm", [{}], "warm[0]: expected a table of input names and shapes, got an empty one"),
        ("warm", [{"x": [0]}], "warm[0].x: expected sizes of 1 or more, got the number 0"),
        ("warm", [{"x": [2**40]}], "warm[0].x: expected sizes"),
        ("warm", [{"x": [1, "n"]}], 'warm[0].x[1]: expected a whole number, got the text "n"'),
        ("warm", {"x": [1]}, "warm: expected a list, got a table"),
        ("custom_ops", ["a", "a"], "custom_ops:"),
        ("custom_ops", [" "], "custom_ops:"),
    ],
)
def test_wrong_values_are_told_in_one_line(field: str, value: Any, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        CHECKS[field](value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["a\0b", "half \ud800 a character"])
def test_characters_that_no_file_can_hold_are_refused_anywhere(text: str) -> None:
    for value in (text, [text], {"k": text}, {text: 1}, ModelRef(path=text, digest=DIGEST)):
        with pytest.raises(PlanError, match="cannot be stored"):
            check_texts(value, "field")
    check_texts({"k": ["é", 1, None, ("\n",)]}, "field")


@pytest.mark.parametrize("key", ["threads", "format"])
def test_a_number_of_any_length_is_refused_in_one_short_line(key: str) -> None:
    with pytest.raises(PlanError, match=f"plan: {key}: .*of 1600 bits") as caught:
        Plan.loads(f"{key} = 0x{'f' * 400}")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("field", ["providers", "custom_ops"])
def test_a_hundred_thousand_names_are_judged_at_once(field: str) -> None:
    with pytest.raises(PlanError, match="stands there twice"):
        CHECKS[field](["cpu" if field == "providers" else f"lib{n}.so" for n in range(100_000)] + ["cpu"] * 2)

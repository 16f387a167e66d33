from __future__ import annotations

import msgspec
import pytest

from hotlap.wire import Region, Signature, Wanted
from hotlap.wire.asked import asked, wanted_of
from hotlap.wire.header import OutputParameters, RequestOutput
from hotlap.wire.problems import Problems
from tests.wire import made

SIGNATURE = Signature.of(
    [made.spec("x", "float32", [1])],
    [made.spec("y", "float32", [4]), made.spec("ok", "bool", [4]), made.spec("t", "string", [4])],
)


def parameters(**given: object) -> tuple[object, list[str]]:
    problems = Problems()
    return asked(given, problems), problems.lines


def wanted(*outputs: dict[str, object], binary: bool = False) -> tuple[tuple[Wanted, ...], list[str]]:
    problems = Problems()
    typed = msgspec.convert(list(outputs), list[RequestOutput])
    return wanted_of(typed, SIGNATURE, binary, problems), problems.lines


def test_nothing_asked_is_nothing_special() -> None:
    for given in (None, {}):
        found = asked(given, Problems())
        assert (found.binary, found.priority, found.timeout, found.rest) == (False, 0, None, {})


def test_known_parameters_are_read_and_the_others_kept() -> None:
    given = {"binary_data_output": True, "priority": 2, "timeout": 2500, "mine": 1.5}
    found = asked(given, Problems())
    assert (found.binary, found.priority, found.timeout, found.rest) == (True, 2, 0.0025, {"mine": 1.5})
    assert "priority" in given, "the client's own are left as they are"


def test_a_timeout_of_0_is_none() -> None:
    assert asked({"timeout": 0}, Problems()).timeout is None


@pytest.mark.parametrize("name", ["priority", "timeout"])
@pytest.mark.parametrize("value", [-1, 1.5, "1", True, 2**63, 10**4000])
def test_numbers_must_be_whole_and_of_this_world(name: str, value: object) -> None:
    _, lines = parameters(**{name: value})
    assert lines == [f"parameter {name}: expected a whole number of 0 or more"]


def test_bytes_are_wanted_or_not() -> None:
    assert parameters(binary_data_output=1)[1] == ["parameter binary_data_output: expected true or false"]


@pytest.mark.parametrize("given", [{"sequence_id": 7}, {"sequence_id": "a"}, {"sequence_start": True}])
def test_sequences_are_refused_clearly(given: dict[str, object]) -> None:
    _, lines = parameters(**given)
    assert len(lines) == 1 and "each request stands alone" in lines[0]


def test_no_sequence_is_no_problem() -> None:
    found, lines = parameters(sequence_id=0, sequence_start=False, sequence_end=False)
    assert lines == [] and found.rest == {}  # type: ignore[attr-defined]


def test_outputs_are_wanted_in_the_order_asked_for() -> None:
    assert wanted() == ((), [])
    assert wanted({"name": "t"}, {"name": "y"}) == ((Wanted("t"), Wanted("y")), [])


def test_an_output_says_itself_whether_it_comes_as_bytes() -> None:
    found, _ = wanted(
        {"name": "y"}, {"name": "t", "parameters": {"binary_data": False}}, {"name": "ok", "parameters": {}},
        binary=True,
    )  # fmt: skip
    assert found == (Wanted("y", True), Wanted("t", False), Wanted("ok", True))


def test_classes_and_shared_memory() -> None:
    region = {"shared_memory_region": "r", "shared_memory_byte_size": 16}
    found, lines = wanted(
        {"name": "y", "parameters": {"classification": 3, "binary_data": True}},
        {"name": "t", "parameters": region | {"shared_memory_offset": 8, "binary_data": False}},
        {"name": "ok", "parameters": region},
        binary=True,
    )
    assert lines == []
    assert found == (
        Wanted("y", True, 3),
        Wanted("t", False, 0, Region("r", 8, 16)),
        Wanted("ok", False, 0, Region("r", 0, 16)),
    )


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("q", {}, "the model has no output of that name; it gives y, ok, t"),
        ("ok", {"classification": 1}, "BOOL has no highest values to classify by"),
        ("t", {"classification": 1}, "BYTES has no highest values to classify by"),
        ("y", {"shared_memory_region": "r"}, "shared_memory_byte_size is missing"),
        ("y", {"shared_memory_byte_size": 4}, "shared_memory_region is missing"),
        ("y", {"shared_memory_offset": 4}, "shared_memory_region is missing"),
        (
            "y",
            {"shared_memory_region": "r", "shared_memory_byte_size": 4, "binary_data": True},
            "both binary_data and shared_memory_region are given, expected one",
        ),
        (
            "y",
            {"shared_memory_region": "r", "shared_memory_byte_size": 4, "classification": 1},
            "both classification and shared_memory_region are given, expected one",
        ),
    ],
)
def test_wishes_that_cannot_be_met(name: str, given: dict[str, object], said: str) -> None:
    assert wanted({"name": name, "parameters": given})[1] == [f'output "{name}": {said}']


def test_an_output_is_asked_for_once() -> None:
    assert wanted({"name": "y"}, {"name": "y"})[1] == ['output "y": asked for twice']


def test_a_million_wrong_outputs_are_told_in_few_words() -> None:
    problems = Problems()
    wishes = [RequestOutput(str(n), OutputParameters()) for n in range(100_000)]
    wanted_of(wishes, SIGNATURE, False, problems)
    assert problems.lines == ["100,000 outputs are asked for, the model gives 3: y, ok, t"]
    problems = Problems()
    wanted_of(wishes[:60], SIGNATURE, False, problems)
    assert len(problems.lines) == 60

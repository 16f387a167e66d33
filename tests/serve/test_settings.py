"""Log and trace settings: validated, all or none, told as they are."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from hotlap.errors import InputError
from hotlap.serve.settings import LogSettings, TraceSettings

FIRST_LOG = {
    "log_file": "",
    "log_info": True,
    "log_warning": True,
    "log_error": True,
    "log_verbose_level": 0,
    "log_format": "default",
}
FIRST_TRACE = {
    "trace_level": ["OFF"],
    "trace_rate": "1000",
    "trace_count": "-1",
    "log_frequency": "0",
    "trace_file": "",
    "trace_mode": "triton",
}


@pytest.fixture(autouse=True)
def level_as_it_was() -> Iterator[None]:
    logger = logging.getLogger("hotlap.serve")
    before = logger.level
    yield
    logger.setLevel(before)


def level() -> int:
    return logging.getLogger("hotlap.serve").level


def test_nothing_is_touched_until_someone_sets_something() -> None:
    before = level()
    settings = LogSettings()
    assert settings.now() == FIRST_LOG
    assert settings.change({}) == FIRST_LOG
    assert level() == before


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"log_verbose_level": 1}, logging.DEBUG),
        ({"log_info": True}, logging.INFO),
        ({"log_info": False}, logging.WARNING),
        ({"log_info": False, "log_warning": False}, logging.ERROR),
        ({"log_info": False, "log_warning": False, "log_error": False}, logging.CRITICAL + 1),
        ({"log_info": False, "log_verbose_level": 3}, logging.DEBUG),
        ({"log_format": "ISO8601", "log_info": None}, logging.INFO),
    ],
)
def test_log_settings_set_the_level_of_the_server(wanted: dict[str, Any], expected: int) -> None:
    told = LogSettings().change(wanted)
    assert told == FIRST_LOG | {k: v for k, v in wanted.items() if v is not None}
    assert level() == expected


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"log_info": 1}, "setting log_info: expected true or false, got 1"),
        ({"log_info": "true"}, "setting log_info: expected true or false, got 'true'"),
        ({"log_verbose_level": -1}, "setting log_verbose_level: expected a whole number from 0 on, got -1"),
        (
            {"log_verbose_level": True},
            "setting log_verbose_level: expected a whole number from 0 on, got True",
        ),
        ({"log_verbose_level": 10**30}, "setting log_verbose_level: expected a whole number from 0 on"),
        ({"log_format": ["default"]}, 'setting log_format: expected "default" or "ISO8601"'),
        ({"log_file": "/etc/passwd"}, "setting log_file: expected nothing: files cannot be named"),
        ({"log_warnings": True}, 'setting "log_warnings": unknown (did you mean "log_warning"?)'),
    ],
)
def test_what_cannot_be_a_log_setting_changes_nothing(wanted: dict[str, Any], problem: str) -> None:
    settings = LogSettings()
    with pytest.raises(InputError) as told:
        settings.change({"log_error": False, **wanted})
    assert problem in str(told.value)
    assert settings.now() == FIRST_LOG


def test_every_problem_is_told_but_not_a_million() -> None:
    with pytest.raises(InputError) as told:
        LogSettings().change({"log_info": 0, "log_error": 0})
    assert len(told.value.problems) == 2
    with pytest.raises(InputError) as told:
        LogSettings().change({f"x{n}" * 1000: n for n in range(10_000)})
    assert len(str(told.value)) < 5_000


def test_trace_settings_of_the_server_and_of_a_model() -> None:
    settings = TraceSettings()
    assert settings.now() == settings.now("m") == FIRST_TRACE
    told = settings.change({"trace_level": ["TIMESTAMPS"], "trace_rate": 5}, "m")
    assert told == settings.now("m") == FIRST_TRACE | {"trace_level": ["TIMESTAMPS"], "trace_rate": "5"}
    assert settings.now() == settings.now("other") == FIRST_TRACE
    settings.change({"trace_rate": "7", "trace_count": ["3"], "log_frequency": 0})
    assert settings.now() == FIRST_TRACE | {"trace_rate": "7", "trace_count": "3"}
    assert settings.now("m")["trace_rate"] == "5"
    assert settings.now("m")["trace_count"] == "3"


def test_null_takes_a_setting_back() -> None:
    settings = TraceSettings()
    settings.change({"trace_rate": 5}, "m")
    settings.change({"trace_rate": 7})
    assert settings.change({"trace_rate": None, "trace_count": None}, "m")["trace_rate"] == "7"
    assert settings.change({"trace_rate": None})["trace_rate"] == "1000"


@pytest.mark.parametrize("level", [["OFF"], ["TIMESTAMPS"], ["TENSORS", "TIMESTAMPS"]])
def test_trace_levels(level: list[str]) -> None:
    assert TraceSettings().change({"trace_level": level})["trace_level"] == level


def test_one_trace_level_may_come_as_a_text() -> None:
    assert TraceSettings().change({"trace_level": "TENSORS"})["trace_level"] == ["TENSORS"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"trace_level": []},
        {"trace_level": ["OFF", "TENSORS"]},
        {"trace_level": ["LOUD"]},
        {"trace_level": [["OFF"]]},
        {"trace_level": ["OFF"] * 1000},
        {"trace_level": 1},
        {"trace_rate": 0},
        {"trace_rate": "x"},
        {"trace_rate": "٣"},
        {"trace_rate": 1.5},
        {"trace_rate": True},
        {"trace_rate": "9" * 100_000},
        {"trace_rate": ["1", "2"]},
        {"trace_count": -2},
        {"trace_count": "--1"},
        {"log_frequency": -1},
        {"trace_file": "/tmp/x"},
        {"trace_mode": "opentelemetry"},
    ],
)
def test_what_cannot_be_a_trace_setting_changes_nothing(wanted: dict[str, Any]) -> None:
    settings = TraceSettings()
    (name,) = wanted
    with pytest.raises(InputError, match=f"setting {name}: expected") as told:
        settings.change({"trace_count": 9, **wanted} if name != "trace_count" else wanted)
    assert len(str(told.value)) < 300
    assert settings.now() == FIRST_TRACE

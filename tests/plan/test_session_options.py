"""The table of session options against the ONNX Runtime that is installed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import onnxruntime
import pytest

from hotlap.plan import SESSION_OPTIONS, Option
from hotlap.plan.refused import SESSION_INSTEAD, UNDOCUMENTED

CHECKED_UP_TO = (1, 32)
"""The newest ONNX Runtime that the table was compared with."""

# Keys that the installed binary may lack: for other processors and providers, or so short that the compiler
# made them a part of its instructions.
NOT_IN_EVERY_BINARY = {
    k for k in SESSION_OPTIONS if k.startswith(("mlas.", "ep.dml.", "ep.context_node"))
} | {
    "ep.share_ep_contexts",
    "ep.stop_share_ep_contexts",
}


def version() -> tuple[int, int]:
    major, minor = onnxruntime.__version__.split(".")[:2]
    return int(major), int(minor)


@cache
def binary() -> bytes:
    (path,) = (Path(onnxruntime.__file__).parent / "capi").glob("onnxruntime_pybind11_state*")
    return path.read_bytes()


@pytest.mark.parametrize("key", [k for k, o in SESSION_OPTIONS.items() if not o.attribute])
def test_onnxruntime_knows_the_key_since_then(key: str) -> None:
    since = tuple(int(n) for n in SESSION_OPTIONS[key].since.split("."))
    if key not in NOT_IN_EVERY_BINARY and version() >= since:
        assert key.encode() in binary()


@pytest.mark.parametrize("name", [k for k, o in SESSION_OPTIONS.items() if o.attribute])
def test_attributes_exist_and_have_the_default_that_is_told(name: str) -> None:
    value = getattr(onnxruntime.SessionOptions(), name)
    option = SESSION_OPTIONS[name]
    if option.ort_enum:
        enum = getattr(onnxruntime, option.ort_enum)
        assert set(option.values) == set(enum.__members__)
        assert value == getattr(enum, option.default)
    elif option.kind == "bool":
        assert value == (option.default == "true")
    elif option.kind in ("str", "path"):
        assert option.default.startswith(f'"{value}"')


def test_no_key_of_this_onnxruntime_is_overlooked() -> None:
    """Each is in the table, or answered with what to write instead, or known to be described nowhere."""
    found = {
        k.decode() for k in re.findall(rb"\0((?:session|optimization)\.[a-z0-9_.]*[a-z0-9_])(?=\0)", binary())
    }
    assert len(found) > 40
    overlooked = {k for k in found if k not in SESSION_OPTIONS and k not in SESSION_INSTEAD}
    overlooked = {k for k in overlooked if not k.startswith(UNDOCUMENTED)}
    assert version() > CHECKED_UP_TO or overlooked == set()


@pytest.mark.parametrize("option", SESSION_OPTIONS.values(), ids=lambda o: o.name)
def test_every_option_is_described_in_one_breath(option: Option) -> None:
    assert option.doc.endswith(".") and len(option.doc) < 220 and option.default
    assert (option.kind == "enum") <= bool(option.values)
    if option.pattern:
        assert option.check(option.example, "k") == option.example
    assert re.fullmatch(r"1\.\d\d", option.since)

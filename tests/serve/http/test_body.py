"""Bodies of JSON that are no inference."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.serve.shared import SharedMemory
from tests.serve.http.asking import Asking


@pytest.mark.parametrize("depth", [300, 800, 900, 950, 980, 1_000, 100_000])
@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/v2/logging", "log_info"),
        ("/v2/trace/setting", "trace_level"),
        ("/v2/models/m/trace/setting", "trace_level"),
        ("/v2/repository/index", "ready"),
        ("/v2/systemsharedmemory/region/r/register", "unknown"),
    ],
)
def test_what_is_nested_deeply_is_400_wherever_it_stands(
    path: str, key: str, depth: int, tmp_path: Path
) -> None:
    asking = Asking(SharedMemory(tmp_path))
    for left, inner, right in ((b"[", b"", b"]"), (b'{"a":', b"1", b"}")):
        body = b'{"%b":%b%b%b}' % (key.encode(), left * depth, inner, right * depth)
        status, told = asking.post(path, body)
        assert status == 400
        assert len(told["error"]) < 400


@pytest.mark.parametrize("value", [b'"\xff"', b'"\\ud800"', b"1e999", b"9" * 5000, b"[" * 5, b"NaN"])
def test_what_is_no_json_is_400(value: bytes) -> None:
    for path in ("/v2/logging", "/v2/repository/index"):
        assert Asking().post(path, b'{"ready":%b}' % value)[0] == 400

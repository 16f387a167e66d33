from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.inspect.rules import external_outside
from tests import tiny
from tests.inspect.cases import found


@pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "C:\\w.bin"])
def test_a_way_out_of_the_folder_is_an_error(tmp_path: Path, location: str) -> None:
    (finding,) = found(external_outside, tiny.external_at(location), tmp_path)
    assert (finding.severity, finding.tensor) == ("error", "w")
    assert "outside" in finding.message


def test_a_file_in_the_folder_is_none(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(16))
    assert found(external_outside, tiny.external_at("w.bin"), tmp_path) == []

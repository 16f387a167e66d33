from __future__ import annotations

from pathlib import Path

from hotlap.inspect.rules import sequence_or_map_output
from tests import tiny
from tests.inspect.cases import found


def test_a_sequence_is_found(tmp_path: Path) -> None:
    (finding,) = found(sequence_or_map_output, tiny.sequence(), tmp_path)
    assert (finding.severity, finding.tensor) == ("warning", "parts")
    assert finding.message.startswith('output "parts" is seq(tensor(float)): ')


def test_what_zipmap_makes_is_left_to_its_own_rule(tmp_path: Path) -> None:
    assert found(sequence_or_map_output, tiny.zipmap(), tmp_path) == []


def test_tensors_are_none(tmp_path: Path) -> None:
    assert found(sequence_or_map_output, tiny.text(), tmp_path) == []

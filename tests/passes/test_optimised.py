from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.errors import UsageError
from hotlap.passes import Optimised, Step


def test_it_comes_back_from_disk(tmp_path: Path) -> None:
    one = Optimised(
        source="m.onnx",
        source_digest="sha256:0",
        out=None,
        digest="sha256:0",
        reason="no pass changed anything",
        steps=(Step(name="fold", changed=False, notes=("nothing to fold",), nodes=3),),
        nodes=3,
        size_before=10,
        size=10,
    )
    one.save(tmp_path / "o.json")
    assert Optimised.load(tmp_path / "o.json") == one
    assert not one.changed and not one.written
    (tmp_path / "o.json").write_text("{}")
    with pytest.raises(UsageError):
        Optimised.load(tmp_path / "o.json")

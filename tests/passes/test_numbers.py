from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from hotlap.model import pieces
from hotlap.passes import numbers
from hotlap.passes.draft import Draft
from tests import tiny


def test_the_same_numbers_inside_and_in_files_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = {t.name: onnx.numpy_helper.to_array(t) for t in tiny.mlp().graph.initializer}
    draft = Draft.load(tiny.mlp_external(tmp_path))
    monkeypatch.setattr(pieces, "PIECE", 400)
    for tensor in draft.proto.graph.initializer:
        found = list(numbers.read_tensor(draft, tensor))
        assert max(p.size for p in found) <= 100
        np.testing.assert_array_equal(np.concatenate(found), inside[tensor.name].reshape(-1))

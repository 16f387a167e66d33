from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.passes.rows import rows_hold
from tests import tiny
from tests.passes.asking import draft_of
from tests.passes.test_mend_batch import constant_target

pytestmark = pytest.mark.usefixtures("here")


def test_rows_that_hold(tmp_path: Path) -> None:
    assert rows_hold(draft_of(tiny.mlp(), tmp_path), {"x"}, {"y": 0})


@pytest.mark.parametrize("target", [[1, 2, 4], [1, -1]])
def test_rows_that_fail_and_rows_that_mix(target: list[int], tmp_path: Path) -> None:
    draft = draft_of(constant_target("batch", target, ["batch", *target[1:]]), tmp_path)
    assert not rows_hold(draft, {"x"}, {"y": 0})

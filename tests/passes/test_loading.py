from __future__ import annotations

from pathlib import Path

import pytest

from hotlap.errors import TargetFailed
from hotlap.passes.tools import run_tool
from tests import tiny
from tests.passes.asking import draft_of

pytestmark = pytest.mark.usefixtures("here")


def test_what_loads_and_what_does_not(tmp_path: Path) -> None:
    run_tool("load", draft_of(tiny.mlp(), tmp_path))
    with pytest.raises(TargetFailed, match=r"load: .*NoSuchOperator"):
        run_tool("load", draft_of(tiny.unknown_operator(), tmp_path))

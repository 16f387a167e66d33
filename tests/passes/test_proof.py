from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hotlap.errors import ModelError
from hotlap.passes.cut import Cut
from hotlap.passes.draft import Draft, Origin
from hotlap.passes.proof import prove, reference_file, same_face
from hotlap.passes.rename import Rename
from hotlap.passes.step import apply
from hotlap.passes.tools import Scratch
from hotlap.verify import Verdict
from tests import tiny
from tests.passes.asking import draft_of, rng_feed

pytestmark = pytest.mark.usefixtures("here")
FEEDS = [rng_feed(seed, x=(2, 16)) for seed in range(4)]


def judged(source: Draft, draft: Draft, folder: Path) -> Verdict:
    place = folder / "candidate"
    place.mkdir()
    return prove(source, draft, draft.lay(place), FEEDS, "exact", generated=True)


def test_a_fault_is_found_behind_other_names(tmp_path: Path) -> None:
    source = draft_of(tiny.mlp(), tmp_path)
    renamed = apply(source, [Rename({"x": "y", "y": "x"})]).draft
    assert not same_face(renamed)
    proto = renamed.copy()
    proto.graph.initializer[1].raw_data = np.ones(32, np.float32).tobytes()
    verdict = judged(source, renamed.edited(proto), tmp_path)
    assert not verdict.passed and 'output "y"' in verdict.reason


def test_only_what_is_left_is_compared(tmp_path: Path) -> None:
    source = draft_of(tiny.mlp(), tmp_path)
    cut = apply(source, [Cut(("r",))]).draft
    assert same_face(cut)
    verdict = judged(source, cut, tmp_path)
    assert verdict.passed and [o.name for o in verdict.outputs] == ["r"]


def test_the_source_is_asked_as_it_lies_where_that_says_enough(tmp_path: Path) -> None:
    source = draft_of(tiny.mlp(), tmp_path)
    scratch = Scratch()
    assert reference_file(source, source, scratch) == source.path
    odd = source.edited(source.copy(), outputs={"z": Origin("no_such_value")})
    with pytest.raises(ModelError, match="comes from no value of the source"):
        reference_file(source, odd, scratch)

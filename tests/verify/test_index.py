from __future__ import annotations

import numpy as np

from hotlap.verify.index import index_text


def test_a_place_is_told_as_python_would_write_it() -> None:
    assert index_text(np.unravel_index(7, (2, 4))) == "[1, 3]"
    assert index_text((np.int64(5),)) == "[5]"
    assert index_text(()) == ""

from __future__ import annotations

from hotlap.providers import Xnnpack


def test_its_own_pool_has_the_plans_threads_unless_told_otherwise() -> None:
    assert Xnnpack().options(3, "off") == {"intra_op_num_threads": "3"}
    assert Xnnpack(intra_op_num_threads=1).options(3, "off") == {"intra_op_num_threads": "1"}

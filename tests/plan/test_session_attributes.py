from __future__ import annotations

from hotlap.plan.session_attributes import ATTRIBUTES


def test_attributes_have_no_dot_and_leave_threads_to_the_plan() -> None:
    names = {o.name for o in ATTRIBUTES}
    assert all(o.attribute for o in ATTRIBUTES) and not any("." in n for n in names)
    assert "intra_op_num_threads" not in names and "use_per_session_threads" not in names

from __future__ import annotations

from hotlap.verify.divergence import Divergence


def found(**changes: object) -> Divergence:
    plain = {
        "kind": "differs",
        "node": 'Add "a"',
        "value": "y",
        "place": "[0, 3]",
        "before": "1",
        "after": "2",
    }
    return Divergence(**{**plain, **changes})  # type: ignore[arg-type]


def test_one_line_says_where_and_how_far() -> None:
    assert found(share=0.25, rms=0.125, noise=1e-7, noise_rms=1e-8, input=2).label == (
        'Add "a", value "y"[0, 3] of input 2: 1 became 2; it differs by up to 0.25 of its range (rms 0.12), '
        "its noise is 1e-07 (rms 1e-08)"
    )


def test_what_is_no_number_and_what_has_another_form_is_said_plainly() -> None:
    assert (
        found(kind="not finite", before="", after="nan").label == 'Add "a", value "y"[0, 3] of input 0: nan'
    )
    assert found(kind="form", place="", before="float32[2]", after="float32[3]").label == (
        'Add "a", value "y" of input 0: float32[2] became float32[3]'
    )

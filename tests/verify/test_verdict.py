from __future__ import annotations

import msgspec
import pytest

from hotlap.errors import VerificationFailed
from hotlap.verify import OutputDiff, Verdict
from hotlap.verify.verdict import Noise


def test_a_verdict_survives_json() -> None:
    diff = OutputDiff(
        name="y", max_abs=0.1, max_rel=0.05, rms=0.01, range=2.0, cosine=1.0, within=1.0, top1=0.5,
        top1_rows=2, top1_differ=1, noise=Noise(max_rel=1e-6),
    )  # fmt: skip
    verdict = Verdict(level="close", passed=False, reason="why", outputs=(diff,), rows=2, unlock="how")
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


def test_check_is_for_test_suites() -> None:
    good = Verdict(level="exact", passed=True, reason="exact: the same")
    assert good.check() is good
    bad = Verdict(level="exact", passed=False, reason="exact: no", worst="output y: 1 became 2")
    with pytest.raises(VerificationFailed, match="exact: no; output y: 1 became 2"):
        bad.check()

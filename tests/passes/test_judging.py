from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotlap.passes import judging, mend_batch, named_pass, optimize
from hotlap.verify import Verdict
from tests import tiny
from tests.passes.test_fold import shape_arithmetic
from tests.passes.test_mend_batch import constant_target
from tests.passes.test_speed import compared

pytestmark = pytest.mark.usefixtures("here")


def agreed(*_: Any, **__: Any) -> Verdict:
    return Verdict(level="exact", passed=True, reason="", generated=True)


class Slower:
    ratio = 0.5
    void = False

    def fails(self) -> bool:
        return True


@pytest.mark.parametrize(("spelt", "written"), [("fold", False), ("rename:y=z", True)])
def test_slower_is_kept_only_where_it_mends(
    spelt: str, written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    monkeypatch.setattr(judging, "compare", lambda *_: Slower())
    monkeypatch.setattr(judging, "_placed", lambda comparison, _: comparison)
    monkeypatch.setattr(judging, "cpu_time", lambda _: None)
    monkeypatch.setattr(judging, "Optimised", lambda **fields: fields)
    found: Any = optimize(path, [named_pass(spelt)], tmp_path / "out.onnx")
    assert (found["out"] is not None) is written is (tmp_path / "out.onnx").exists()
    assert written or found["reason"] == "it is slower: 0.50 times as fast"


@pytest.mark.parametrize(("times", "written"), [(1.3, False), (1.0, True)])
def test_where_the_latencies_are_void_cpu_time_decides(
    times: float, written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny.save(shape_arithmetic(), tmp_path / "m.onnx")
    monkeypatch.setattr(judging, "compare", lambda *_: compared(0.5, times, foreign=0.4))
    found = optimize(path, [named_pass("fold")], tmp_path / "out.onnx")
    assert found.written is written is (tmp_path / "out.onnx").exists()
    assert found.cpu is not None and found.cpu.ratio == pytest.approx(1 / times)
    assert written or "1.30 times the CPU time" in found.reason


@pytest.mark.parametrize(("after", "judged"), [((), False), (("rename:x=image",), True)])
def test_what_follows_a_mended_batch_is_judged_by_several_rows_too(
    after: tuple[str, ...], judged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "prove", agreed)
    monkeypatch.setattr(mend_batch, "single_rows_agree", agreed)
    monkeypatch.setattr(judging, "rows_lost", lambda _: "several rows at once give other answers")
    path = tiny.save(constant_target("batch", [1, -1], ["batch", 8]), tmp_path / "m.onnx")
    chosen = [named_pass(one) for one in ("mend-batch", *after)]
    found = optimize(path, chosen, tmp_path / "out.onnx", measure=False)
    assert found.reason == ("several rows at once give other answers" if judged else "")

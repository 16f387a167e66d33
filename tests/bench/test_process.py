from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from hotlap.bench import ProcessResult, Target, Workload, process, run_once, save_feeds
from hotlap.bench.doubts import is_disturbed
from hotlap.bench.exchange import NO_ROOM
from hotlap.cpus import usable_threads
from hotlap.errors import ModelError, StorageError, TargetFailed, UsageError
from hotlap.plan import ModelRef, Plan
from hotlap.runtime import default_session, file_digest, make_feed
from tests import tiny

QUICK = Workload(seconds=0.05, warmup=0.0, processes=2)
posix = pytest.mark.skipif(os.name != "posix", reason="signals are a matter of POSIX")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "m.onnx")


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


def child_is(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(process, "PYTHON", (sys.executable, "-c", textwrap.dedent(script)))


def test_a_model_and_a_plan_are_measured(model: Path) -> None:
    plan = Plan(model=ModelRef(path=model.name, digest=file_digest(model)), threads=1, spin="off")
    for target in (Target.default(model), Target.planned(plan, folder=model.parent, label="one thread")):
        result = run_once(target, QUICK)
        assert result.label == target.label and result.calls >= 3 and 0 < result.p50 < 1


def test_a_broken_model_is_one_line_with_the_reason_as_its_cause(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_text("no model")
    with pytest.raises(TargetFailed, match=r"default: .*m\.onnx") as caught:
        run_once(Target.default(tmp_path / "m.onnx"), QUICK)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, ModelError)


def test_a_plan_for_another_model_is_refused(model: Path) -> None:
    plan = Plan(model=ModelRef(path=model.name, digest="sha256:" + "0" * 64))
    with pytest.raises(TargetFailed, match="another model"):
        run_once(Target.planned(plan, folder=model.parent), QUICK)


def test_a_target_that_hangs_is_ended(model: Path) -> None:
    start = time.monotonic()
    with pytest.raises(TargetFailed, match=r"no answer within 3 s"):
        run_once(Target.default(model, handicap=1e9), QUICK, timeout=3)
    assert time.monotonic() - start < 30


@posix
def test_a_crash_names_its_signal_and_the_last_words(
    model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child_is(
        monkeypatch, "import os, sys; print('first\\nbad things\\n', file=sys.stderr, flush=True); os.abort()"
    )
    with pytest.raises(TargetFailed, match=r"^default: the process crashed \(SIGABRT\): bad things$"):
        run_once(Target.default(model), QUICK, tmp_path)


@pytest.fixture(params=["told", "looked for"])
def ending(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the end of a child is noticed: the system tells it, or one looks again and again."""
    if request.param == "looked for":
        monkeypatch.setattr(process, "_end_of", lambda child: None)


@pytest.mark.usefixtures("ending")
def test_a_child_that_says_nothing_is_ended_in_time(
    model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child_is(monkeypatch, "import time; time.sleep(600)")
    with pytest.raises(TargetFailed, match=r"no answer within 0\.2 s"):
        run_once(Target.default(model), QUICK, tmp_path, timeout=0.2)


@pytest.mark.usefixtures("ending")
def test_an_end_without_a_result_is_told(
    model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child_is(monkeypatch, "raise SystemExit(7)")
    with pytest.raises(TargetFailed, match=r"^default: the process ended with code 7 and no result$"):
        run_once(Target.default(model), QUICK, tmp_path)


def test_what_the_target_prints_is_no_result(
    model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child_is(monkeypatch, "print('{}' * 100000)")
    with pytest.raises(TargetFailed, match="code 0 and no result"):
        run_once(Target.default(model), QUICK, tmp_path)


def test_an_interrupt_ends_the_child_too(
    model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child_is(monkeypatch, "import time; time.sleep(60)")
    children: list[subprocess.Popen[bytes]] = []

    def interrupted(child: subprocess.Popen[bytes], allowed: float) -> int:
        children.append(child)
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "_waited", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_once(Target.default(model), QUICK, tmp_path)
    assert children[0].returncode is not None


@posix
def test_a_child_ends_when_its_parent_was_killed(model: Path, tmp_path: Path) -> None:
    script = f"""
        from hotlap.bench import ProcessResult, Target, Workload, run_once, process
        import subprocess
        class Shown(subprocess.Popen):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                print(self.pid, flush=True)
        subprocess.Popen = Shown
        run_once(Target.default({str(model)!r}, handicap=1e9), Workload(), {str(tmp_path / "feeds")!r})
    """

    save_feeds(tmp_path / "feeds", [make_feed(default_session(model).inputs)])
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 20
    while _alive(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _alive(child)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:  # ended, but nobody has collected it yet
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True


def test_what_idle_threads_burn_by_spinning_shows_in_the_cpu_time_of_a_request(tmp_path: Path) -> None:
    """The handicap is what a program does between two requests: meanwhile the second thread has no work."""
    model = tiny.save(tiny.mlp(features=512, hidden=2048, classes=512), tmp_path / "m.onnx")
    feeds = save_feeds(tmp_path / "feeds", [{"x": np.ones((64, 512), np.float32)}])

    def measured(spin: str) -> ProcessResult:
        plan = Plan(model=ModelRef(path=model.name, digest=file_digest(model)), threads=2, spin=spin)
        target = msgspec.structs.replace(Target.planned(plan, folder=tmp_path), handicap=4.0)
        return run_once(target, Workload(seconds=0.4, warmup=0.1), feeds)

    for _ in range(4):
        on, off = measured("on"), measured("off")
        if on.cpu_per_call > 1.2 * off.cpu_per_call:
            return
        if not (is_disturbed(on) or is_disturbed(off)) and usable_threads() > 1:
            break
    else:
        pytest.skip("a thread can spin only on an idle CPU, and other work leaves none here")
    pytest.fail(f"CPU time of a request: {on.cpu_per_call} spinning, {off.cpu_per_call} not")


def test_what_is_measured_is_not_recorded(
    model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOTLAP_RECORD", str(tmp_path / "rec"))
    plan = Plan(model=ModelRef(path=model.name, digest=file_digest(model)))
    run_once(Target.planned(plan, folder=model.parent), QUICK)
    assert not (tmp_path / "rec").exists()


def test_the_start_of_a_process_is_timed(model: Path) -> None:
    result = run_once(Target.default(model), QUICK)
    assert result.start_s is not None and result.import_s is not None
    assert 0 <= result.start_s < 20 and 0 < result.import_s < 20


def test_a_path_that_is_not_utf8_is_told() -> None:
    with pytest.raises(UsageError, match="a path is not UTF-8"):
        run_once(Target.default("m\udcff.onnx"), Workload())


def test_a_child_without_room_for_its_answer_is_told_from_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_wait_for_child", lambda *_: NO_ROOM)
    with pytest.raises(StorageError, match="no room for temporary files"):
        run_once(Target.default(tmp_path / "m.onnx"), Workload())

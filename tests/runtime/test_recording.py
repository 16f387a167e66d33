from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlap
from hotlap.bench import load_feeds, load_mix, load_trace
from hotlap.errors import UsageError
from hotlap.runtime import recorded, recording
from hotlap.runtime.recording import MOST_ARRIVALS, Recorder, record
from tests import tiny

# numpy parses the header of a file with ast, in which Python 3.11 loses count when threads take turns.
READS_BACK = pytest.mark.thread_unsafe(reason="it reads .npy files, and Python 3.11 has one ast at a time")


def feed(n: int, width: int = 4) -> dict[str, Any]:
    return {"x": np.full((1, width), n, np.float32), "name": np.array([f"person {n}"])}


def test_by_default_no_value_of_any_tensor_is_kept(tmp_path: Path) -> None:
    with record(tmp_path / "rec") as recorder:
        for n in range(5):
            recorder.add(feed(n, width=4 + n % 2))
    assert {p.name for p in (tmp_path / "rec").iterdir()} == {
        "recording.json",
        "arrivals.txt",
        "shapes.json",
        "feeds",
    }
    assert list((tmp_path / "rec" / "feeds").iterdir()) == []
    assert not any(b"person" in p.read_bytes() for p in (tmp_path / "rec").rglob("*") if p.is_file())


@READS_BACK
def test_what_it_writes_is_what_measuring_reads(tmp_path: Path) -> None:
    with Recorder(tmp_path / "rec", inputs="all") as recorder:
        for n in range(5):
            recorder.add(feed(n, width=4 + n % 2))
            time.sleep(0.01)
    feeds = load_feeds(tmp_path / "rec" / "feeds")
    assert sorted(int(f["x"][0, 0]) for f in feeds) == [0, 1, 2, 3, 4]
    assert feeds[0]["name"].dtype.kind == "U"
    times = load_trace(tmp_path / "rec" / "arrivals.txt")
    assert len(times) == 5 and times[0] == 0 and (np.diff(times) >= 0.009).all()
    counts = {c.shapes["x"]: c.weight for c in load_mix(tmp_path / "rec" / "shapes.json").choices}
    assert counts == {(1, 4): 3, (1, 5): 2}


@READS_BACK
def test_only_the_inputs_that_were_named_are_kept(tmp_path: Path) -> None:
    with Recorder(tmp_path / "rec", inputs=["x"]) as recorder:
        recorder.add(feed(1))
    (kept,) = load_feeds(tmp_path / "rec" / "feeds")
    assert list(kept) == ["x"]


@READS_BACK
def test_it_is_bounded_in_number_and_in_bytes(tmp_path: Path) -> None:
    with Recorder(tmp_path / "few", inputs="all", feeds=3) as few:
        for n in range(40):
            few.add(feed(n))
            time.sleep(0.001)
    assert len(load_feeds(tmp_path / "few" / "feeds")) == 3
    with Recorder(tmp_path / "small", inputs=["x"], megabytes=0.001) as small:
        for n in range(40):
            small.add(feed(n, width=50))  # 200 bytes each, 1,000 in all
            time.sleep(0.001)
    assert 1 <= len(load_feeds(tmp_path / "small" / "feeds")) <= 5


@READS_BACK
def test_a_backlog_costs_feeds_and_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = threading.Event()
    monkeypatch.setattr(recorded, "_claimed", lambda wanted: slow.wait() and tmp_path)
    monkeypatch.setattr(recording, "BACKLOG", 20 * sum(array.nbytes for array in feed(0).values()) - 1)
    recorder = Recorder(tmp_path / "rec", inputs="all", feeds=1000)
    for n in range(100):
        recorder.add(feed(n % 10))
    slow.set()
    recorder.close()
    assert len(load_feeds(tmp_path / "feeds")) == 20
    assert len(load_trace(tmp_path / "arrivals.txt")) == 100
    assert json.loads((tmp_path / "shapes.json").read_text())["missed"] == 80


@READS_BACK
def test_small_feeds_in_a_row_are_all_kept(tmp_path: Path) -> None:
    with Recorder(tmp_path / "rec", inputs="all", feeds=1000) as recorder:
        for n in range(300):
            recorder.add(feed(n))
    assert len(load_feeds(tmp_path / "rec" / "feeds")) == 300


@READS_BACK
def test_an_array_that_changes_after_the_call_is_kept_as_it_was(tmp_path: Path) -> None:
    one = feed(7)
    with Recorder(tmp_path / "rec", inputs="all") as recorder:
        recorder.add(one)
        one["x"][:] = 0
    assert load_feeds(tmp_path / "rec" / "feeds")[0]["x"].tolist() == [[7] * 4]


def test_a_second_recording_goes_beside_the_first(tmp_path: Path) -> None:
    for expected in ("rec", "rec-2", "rec-3"):
        with record(tmp_path / "rec") as recorder:
            recorder.add(feed(0))
        assert recorder.folder == tmp_path / expected


def test_no_request_leaves_no_folder(tmp_path: Path) -> None:
    with record(tmp_path / "rec"):
        pass
    assert list(tmp_path.iterdir()) == []


@READS_BACK
def test_many_threads_record_at_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "rec", inputs="all", feeds=8)
    threads = [
        threading.Thread(target=lambda k=k: [recorder.add(feed(n, width=k + 1)) for n in range(50)])
        for k in range(6)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    recorder.close()
    assert {c.shapes["x"]: c.weight for c in load_mix(tmp_path / "rec" / "shapes.json").choices} == {
        (1, k + 1): 50 for k in range(6)
    }
    assert len(load_trace(tmp_path / "rec" / "arrivals.txt")) == 300
    assert 1 <= len(load_feeds(tmp_path / "rec" / "feeds")) <= 8


@pytest.mark.parametrize("bad", [None, 5, {"x": object()}, {"x": [[1], [2, 3]]}])
@pytest.mark.thread_unsafe(reason="the captured log is one for all threads")
def test_what_is_no_feed_never_raises_and_is_logged_once(
    bad: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Recorder(tmp_path / "rec", inputs="all") as recorder:
        for _ in range(3):
            recorder.add(bad)
            recorder.add(feed(1))
    assert len([r for r in caplog.records if "recording stopped" in r.message]) <= 1


def test_a_disk_that_is_full_stops_the_recording_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recorded, "write_npz", full)
    recorder = Recorder(tmp_path / "rec", inputs="all")
    recorder.add(feed(0))
    end = time.monotonic() + 10
    while not recorder.stopped and time.monotonic() < end:
        time.sleep(0.005)
    for n in range(100):
        recorder.add(feed(n))
    recorder.close()
    assert [r.getMessage() for r in caplog.records] == [
        f"{tmp_path / 'rec'}: recording stopped: No space left on device"
    ]


@pytest.mark.thread_unsafe(reason="the captured log is one for all threads")
def test_a_folder_that_cannot_be_made_stops_it_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    recorder = Recorder(tmp_path / "file" / "rec")
    recorder.add(feed(0))
    recorder.close()
    assert "recording stopped" in caplog.text and recorder.folder is None


def test_after_it_was_closed_nothing_is_recorded_and_closing_twice_is_fine(tmp_path: Path) -> None:
    recorder = record(tmp_path / "rec")
    recorder.add(feed(0))
    recorder.close()
    recorder.add(feed(1))
    recorder.close()
    assert recorder.stopped == "closed"
    assert len((tmp_path / "rec" / "arrivals.txt").read_text().splitlines()) == 1


def test_arrivals_and_shapes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_ARRIVALS", 5)
    monkeypatch.setattr(recording, "MOST_SHAPES", 2)
    with record(tmp_path / "rec") as recorder:
        for n in range(12):
            recorder.add(feed(n, width=n % 4 + 1))
    assert MOST_ARRIVALS == 200_000
    assert len(load_trace(tmp_path / "rec" / "arrivals.txt")) == 5
    assert [c.weight for c in load_mix(tmp_path / "rec" / "shapes.json").choices] == [3, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_records_beside_its_parent(tmp_path: Path) -> None:
    script = f"""
        import os, sys
        import numpy as np
        from hotlap.runtime.recording import Recorder

        recorder = Recorder({str(tmp_path / "rec")!r})
        recorder.add({{"x": np.ones(3)}})
        child = os.fork()
        if child == 0:
            recorder.add({{"x": np.ones(5)}})
            sys.exit()  # atexit writes what is left
        assert os.waitpid(child, 0)[1] == 0
        recorder.close()
    """
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=60, env=env)
    shapes = [json.loads((tmp_path / d / "shapes.json").read_text())["shapes"] for d in ("rec", "rec-2")]
    assert sorted(s[0]["shapes"]["x"][0] for s in shapes) == [3, 5]


@pytest.mark.thread_unsafe(reason="the captured log is one for all threads")
def test_the_environment_says_what_to_record(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert Recorder.from_environment({}) is None
    assert Recorder.from_environment({"HOTLAP_RECORD": ""}) is None
    given = {
        "HOTLAP_RECORD": str(tmp_path / "rec"),
        "HOTLAP_RECORD_INPUTS": "x, y",
        "HOTLAP_RECORD_FEEDS": "2",
    }
    recorder = Recorder.from_environment(given)
    assert recorder is not None
    with recorder:
        for n in range(20):
            recorder.add(feed(n))
    feeds = load_feeds(tmp_path / "rec" / "feeds")
    assert len(feeds) == 2 and list(feeds[0]) == ["x"]
    assert Recorder.from_environment({"HOTLAP_RECORD": "r", "HOTLAP_RECORD_MB": "lots"}) is not None
    assert "HOTLAP_RECORD_MB=lots is no number" in caplog.text


@pytest.mark.parametrize("bounds", [{"feeds": -1}, {"megabytes": -1}, {"megabytes": float("nan")}])
def test_bounds_that_make_no_sense_are_refused(bounds: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="0 or more"):
        Recorder(tmp_path, **bounds)


def test_a_wrapped_call_answers_as_before(tmp_path: Path) -> None:
    with record(tmp_path / "rec") as recorder:
        run = recorder.wrap(lambda feed, outputs=None: (feed, outputs))
        one = feed(1)
        assert run(one, outputs=["y"]) == (one, ["y"]) and run(one)[0] is one
    assert len(load_trace(tmp_path / "rec" / "arrivals.txt")) == 2


def test_a_runner_records_when_the_environment_says_so_and_is_untouched_when_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny.save(tiny.add(), tmp_path / "m.onnx")
    x = np.ones((2, 4), np.float32)
    monkeypatch.delenv("HOTLAP_RECORD", raising=False)
    with hotlap.open(model) as plain:
        assert "run" not in vars(plain)
    monkeypatch.setenv("HOTLAP_RECORD", str(tmp_path / "rec"))
    with hotlap.open(model) as runner:
        assert runner.run({"x": x})["y"].tolist() == (2 * x).tolist()
        runner(x)
        with runner.borrow({"x": x}) as lent:
            assert lent["y"].tolist() == (2 * x).tolist()
        assert asyncio.run(runner.arun({"x": x}, ["y"]))["y"].tolist() == (2 * x).tolist()
    (choice,) = load_mix(tmp_path / "rec" / "shapes.json").choices
    assert choice.shapes == {"x": (2, 4)} and choice.weight == 4  # the warm-up is no request


def test_nothing_of_it_is_loaded_until_it_is_asked_for() -> None:
    script = "import hotlap, sys; hotlap.open; print('hotlap.runtime.recording' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

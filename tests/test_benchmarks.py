"""The tables in README and docs are what the results say; every benchmark keeps to its shape."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import NAMES, __main__, fresh, render
from tests.real import real

FOOTPRINT: dict[str, Any] = {
    "import_s": 0.0006,
    "import_runner_s": 0.06,
    "help_s": 0.35,
    "open": [
        {
            "model": "tiny",
            "session_s": 0.1,
            "open_s": 0.12,
            "open_not_warmed_s": 0.11,
            "limit_s": 0.13,
            "ratio": [1.2, 1.1, 1.3],
        }
    ],
    "wheel_bytes": 200_000,
    "unpacked_bytes": 500_000,
}
RESULT = {
    "name": "footprint",
    "claim": "claim",
    "method": "method",
    "machine": {
        "cpu": "Some CPU",
        "instruction_sets": ["AVX2"],
        "cpus": "host 2 -> 2 threads",
        "memory_gb": 8,
        "versions": {"onnxruntime": "1.32.0", "numpy": "2.4.6"},
    },
    "date": "2026-11-30",
    "seconds": 1,
    "data": FOOTPRINT,
}


def test_the_render_is_current() -> None:
    stale = [p.relative_to(render.ROOT).as_posix() for p in render.stale()]
    assert stale == [], "run make render"


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_has_a_claim_a_method_and_a_table(name: str) -> None:
    module = import_module(f"benchmarks.{name}")
    assert module.CLAIM.endswith(".") and module.METHOD.endswith(".")
    assert callable(module.main) and callable(module.table)


def test_every_kept_result_is_of_a_benchmark_that_exists_and_tells_where_it_was_measured() -> None:
    for file in render.RESULTS.glob("*.json"):
        result = json.loads(file.read_text(encoding="utf-8"))
        assert file.stem in NAMES and result["name"] == file.stem
        assert result["machine"]["cpu"] and result["machine"]["versions"]["onnxruntime"]


def test_a_marked_table_is_replaced_and_the_rest_of_the_page_is_left_alone() -> None:
    page = "before\n<!-- bench: footprint -->\nold\n<!-- end bench -->\nafter\n"
    filled = render.fill(page, {"footprint": RESULT})
    assert filled.startswith("before\n<!-- bench: footprint -->\n| what | measured |")
    assert filled.endswith("<!-- end bench -->\nafter\n") and "old" not in filled
    assert (
        "*Some CPU, host 2 -> 2 threads, onnxruntime 1.32.0; 2026-11-30; `benchmarks/footprint.py`.*"
        in filled
    )
    assert render.fill(filled, {"footprint": RESULT}) == filled


def test_what_has_not_been_measured_says_so() -> None:
    page = "<!-- bench: honesty -->\n<!-- end bench -->"
    assert "Not measured yet: `python -m benchmarks honesty`" in render.fill(page, {})
    assert "Nothing has been measured yet." in render.overview({})


def test_a_benchmark_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no benchmark 'none'"):
        render.fill("<!-- bench: none -->\n<!-- end bench -->", {})


def test_a_benchmark_has_the_views_that_a_page_may_want_and_no_others() -> None:
    files = {"count": 149, "slowest": "a", "seconds": 0.5, "crashed": [], "errors": []}
    row = {
        "model": "captcha",
        "job": "is it one?",
        "file": "a/b.onnx",
        "inputs": ["x float32[n]"],
        "outputs": ["y float32[n]", "z int64[n]"],
        "rows": {"are": "independent", "why": "so it is", "axes": {"x": 0, "y": 1, "z": 0}},
        "padding": {"t": "sensitive"},
        "unknown": [],
        "findings": [{"code": "HL407", "severity": "info", "message": "a|b"}],
        "beyond_s": 10.1,
        "own_s": 0.4,
    }
    said = [
        "model  a.onnx",
        "format  IR 8",
        "run  yes",
        "",
        "error 1",
        "  node n",
        "",
        "info 2",
        "",
        "info 3",
    ]
    data = {"models": [row], "files": files, "shown": [*said, "", "1 error, 0 warnings, 2 info"]}
    results = {"inspections": {**RESULT, "data": data}}
    view = render.table("inspections.models", results)
    assert view.startswith(
        "## captcha\nIs it one? `a/b.onnx`: `x float32[n]` → `y float32[n]`, `z int64[n]`.\n\n"
        "Rows: independent, so it is. They lie along axis 0 of `x`, `z`; axis 1 of `y`. "
        "Padding along `t` changes the answers.\n"
    )
    assert r"| info | [HL407](../reference/findings/HL407.md) | a\|b |" in view
    rows = render.table("inspections", results).splitlines()
    assert "| captcha | 0 | 0 | 1 | 10.1 s | 0.4 s | 10 s | **no** |" in rows
    assert any(r.startswith("| 149 models") and r.endswith("| yes |") for r in rows)
    assert render.table("inspections.shown", results).startswith(
        "```text\n$ hotlap inspect common.onnx\nmodel  a.onnx\nrun  yes\n\nerror 1\n  node n\n\n"
        "info 2\n\n…\n\n1 error, 0 warnings, 2 info\n```\n"
    )
    with pytest.raises(ValueError, match="inspections has no view 'none'"):
        render.table("inspections.none", results)


@pytest.mark.slow
def test_the_output_on_the_first_page_is_what_the_command_prints() -> None:
    from benchmarks.inspections import SHOWN, _shown
    from tests.real import real

    kept, now = render.load()["inspections"]["data"]["shown"], _shown(real(SHOWN.name))
    # Above the first blank line stands what hangs on the machine and on ONNX Runtime's version.
    assert now[now.index("") :] == kept[kept.index("") :]
    assert now[:3] == kept[:3]


def test_what_is_confirmed_of_a_model_was_found_in_it() -> None:
    from tests.inspect.confirmed import CONFIRMED

    for row in render.load()["inspections"]["data"]["models"]:
        told = [f"{f['code']} {f['message']}" for f in row["findings"]]
        told += [f"rows {row['rows']['are']}", *(f"axis {a} of {n}" for n, a in row["rows"]["axes"].items())]
        assert any(one.startswith(CONFIRMED[row["model"]].finding) for one in told), row["model"]


def test_the_overview_has_machine_and_method_before_any_table() -> None:
    text = render.overview({"footprint": RESULT})
    places = [
        text.index(part) for part in ("## Machine", "Some CPU", "## Method", "## footprint", "| what |")
    ]
    assert places == sorted(places)


def test_the_footprint_table_marks_what_is_kept_and_what_is_not() -> None:
    rows = import_module("benchmarks.footprint").table(FOOTPRINT).splitlines()
    assert "| `hotlap --help` | 350 ms | 300 ms | **no** |" in rows
    assert any("`hotlap.open`, tiny" in r and r.endswith("| 130 ms | yes |") for r in rows)
    assert any("0.20 MB, unpacked 0.50 MB | 1 MB | yes" in r for r in rows)


def compared(part: str, key: str, ratio: float, verdict: str, **fields: Any) -> dict[str, Any]:
    span = {"low": ratio * 0.98, "high": ratio * 1.02, "same_within": None, "void": False}
    shown = {"model": "tiny", "p50_s": 0.0042, "seconds": 20.0, "processes": 10, "foreign": 0.0}
    return {"part": part, "key": key, "ratio": ratio, "verdict": verdict, **span, **shown, **fields}


def rows_of(trials: list[dict[str, Any]]) -> dict[str, list[str]]:
    lines = import_module("benchmarks.honesty").table({"trials": trials}).splitlines()[2:]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_the_honesty_table_counts_false_claims_and_a_void_run_claims_nothing() -> None:
    itself = [compared("itself", str(n), 1.0, "no difference", same_within=0.02) for n in range(18)]
    itself += [compared("itself", "a", 1.03, "faster"), compared("itself", "b", 0.97, "slower", void=True)]
    rows = rows_of(itself)
    told = "1 of 20 claim a difference; 18 show the same within 2 %; ratios 0.970 to 1.030; 1 void"
    assert rows["tiny (4.2 ms) against itself"] == [told, "", ""]
    assert rows["all of them against themselves"] == ["1 of 20 claim a difference", "at most 2", "yes"]
    assert rows["5 % slower"] == ["*not measured yet*", "", ""]


@pytest.mark.parametrize(
    ("found", "seconds", "kept"), [(9, 100, "yes"), (8, 100, "**no**"), (10, 121, "**no**")]
)
def test_a_planted_5_percent_must_be_found_nine_times_in_ten_and_in_time(
    found: int, seconds: float, kept: str
) -> None:
    trials = [
        compared("planted5", str(n), 0.95, "slower" if n < found else "no difference", seconds=seconds)
        for n in range(10)
    ]
    assert rows_of(trials)["5 % slower"][2] == kept


def test_a_planted_2_percent_may_be_missed_and_never_reversed() -> None:
    missed = [compared("planted2", str(n), 0.98, "no difference") for n in range(10)]
    assert rows_of(missed)["2 % slower"][2] == "yes"
    assert rows_of([*missed, compared("planted2", "x", 1.03, "faster")])["2 % slower"][2] == "**no**"


def test_beside_a_neighbour_a_run_may_be_void_instead_of_right() -> None:
    what = "against itself beside a busy program"
    loud = [compared("neighbour", str(n), 1.3, "faster", void=True) for n in range(10)]
    assert rows_of(loud)[what][2] == "yes"
    assert rows_of([compared("neighbour", str(n), 1.3, "faster") for n in range(10)])[what][2] == "**no**"


def test_the_queue_the_stall_and_the_harness() -> None:
    quantiles = {"p50": [1.08, 1.0, 1.1], "p95": [1.2, 1.0, 1.1], "p99": [9, 1, 1]}
    stall = {
        "requests": 2000,
        "delayed": 40,
        "delayed_simulated": 41,
        "p99_s": 0.11,
        "p99_simulated_s": 0.105,
    }
    rows = rows_of(
        [
            {
                "part": "queue",
                "key": "70 %",
                "quantiles": quantiles,
                "busy": 0.71,
                "requests": 900,
                "void": False,
            },
            {"part": "stall", "key": "200 ms", "p99_of_calls_s": 0.001, **stall},
            {"part": "overhead", "key": "no-op", "period_s": 1.6e-7, "said_s": 1.5e-7, "p50_s": 6e-8},
        ]
    )
    assert [rows[f"open loop at 70 % of capacity, p{q}"][2] for q in (50, 95, 99)] == ["yes", "**no**", ""]
    busy = ["busy for 71 % of the time, 900 requests", "60 to 80 %", "yes"]
    assert rows["open loop at 70 % of capacity"] == busy
    assert rows["one stall of 200 ms, 100 requests a second"][2] == "yes"
    assert rows["the harness, on a target that does nothing"] == [
        "0.160 µs a call, of which 0.060 µs are in the latency; it says 0.150 µs", "under 0.3 µs", "yes",
    ]  # fmt: skip


def test_trials_that_were_done_are_not_done_again(tmp_path: Path) -> None:
    from benchmarks.trials import Trials

    file = tmp_path / "results" / "t.jsonl"
    done: list[int] = []

    def measure() -> dict[str, Any]:
        done.append(1)
        return {"value": len(done)}

    first = Trials(file)
    assert (
        first.once("a", "1", measure)
        == first.once("a", "1", measure)
        == {"part": "a", "key": "1", "value": 1}
    )
    first.once("a", "2", measure)
    again = Trials(file)
    assert again.once("a", "2", measure)["value"] == 2 and len(done) == 2
    assert [t["value"] for t in again.of("a")] == [1, 2] and again.of("b") == []
    again.forget()
    assert not file.exists() and Trials(None).once("a", "1", measure)["value"] == 3


def test_one_part_is_measured_and_the_others_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import honesty

    old = [{"part": "queue", "key": "70 %", "old": 1}, {"part": "stall", "key": "200 ms", "old": 1}]
    (tmp_path / "honesty.json").write_text(json.dumps({"data": {"trials": old}}))
    monkeypatch.setattr(honesty, "KEPT", tmp_path / "honesty.trials.jsonl")
    monkeypatch.setattr(honesty, "RESULT", tmp_path / "honesty.json")
    monkeypatch.setitem(honesty.PARTS, "queue", lambda trials, size: trials.once("queue", "70 %", dict))
    assert honesty.main(False, ["queue"]) == {"trials": [old[1], {"part": "queue", "key": "70 %"}]}
    assert not (tmp_path / "honesty.trials.jsonl").exists()
    with pytest.raises(SystemExit, match="no part none"):
        honesty.main(True, ["none"])


def test_a_neighbour_keeps_a_core_busy_and_is_gone_afterwards() -> None:
    import subprocess
    import time

    from benchmarks import neighbour

    started: list[Any] = []

    class Seen(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbour.subprocess, "Popen", Seen)
        with neighbour.busy_neighbour():
            time.sleep(0.3)
            assert started[0].poll() is None
    assert started[0].returncode is not None


def test_a_stall_comes_once_at_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import targets

    slept: list[float] = []
    monkeypatch.setattr(targets.time, "sleep", slept.append)
    call = targets.stalling()
    for _ in range(500):
        call({})
    assert slept.count(0.2) == 1 and slept[targets.STALLED - 1] == 0.2


def test_a_quick_run_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import footprint

    def not_to_be_called(*args: object) -> None:
        raise AssertionError("a quick run wrote something")

    monkeypatch.setattr(footprint, "main", lambda quick: FOOTPRINT)
    monkeypatch.setattr(__main__, "write_whole", not_to_be_called)
    monkeypatch.setattr(__main__, "refresh", not_to_be_called)
    assert __main__.main(["footprint", "--quick"]) == 0
    assert "| what | measured |" in capsys.readouterr().out


def test_a_whole_run_keeps_the_result_and_renders(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import footprint

    monkeypatch.setattr(footprint, "main", lambda quick: FOOTPRINT)
    monkeypatch.setattr(__main__, "RESULTS", tmp_path)
    monkeypatch.setattr(__main__, "refresh", lambda: ["README.md"])
    assert __main__.main(["footprint"]) == 0
    kept = json.loads((tmp_path / "footprint.json").read_text())
    assert kept["data"] == FOOTPRINT and kept["machine"]["versions"]["numpy"]
    assert "rendered README.md" in capsys.readouterr().out


def test_an_unknown_benchmark_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        __main__.main(["none"])
    assert done.value.code == 2
    assert "no benchmark none" in capsys.readouterr().err


def test_small_programs_are_timed_in_fresh_processes_in_turn() -> None:
    found = fresh.seconds_told({"one": "print('noise'); print(1.5)", "two": "print(3.0)"}, rounds=2)
    assert found == {"one": [1.5, 1.5], "two": [3.0, 3.0]}
    assert fresh.ratio(found["two"], found["one"]).value == pytest.approx(2.0)


def passed_over(key: str, status: str, **fields: Any) -> dict[str, Any]:
    measured = {"ratio": 1.2, "low": 1.1, "high": 1.3, "verdict": "faster", "level": "exact", "passed": True}
    shown = {"changed": [key.partition(":")[0]], "nodes": [5, 3], "bytes": [2_000_000, 1_500_000], "why": ""}
    return {"part": "tiny", "key": key, "status": status, **measured, **shown, **fields}


def test_the_table_of_passes_tells_what_was_kept_and_why_not() -> None:
    slower = {"verdict": "slower", "ratio": 0.5, "low": 0.4, "high": 0.6, "why": "it is slower: 0.50 times"}
    trials = [
        passed_over("fold", "kept"),
        passed_over("fuse", "not kept", **slower),
        passed_over("transformer", "not kept", passed=False, why="the answers differ: exact: …"),
        {"part": "tiny", "key": "mend-batch", "status": "refused", "why": "rows | mix"},
        {"part": "tiny", "key": "remove-zipmap", "status": "does not apply", "why": "…"},
        {"part": "tiny", "key": "cut", "status": "unchanged", "why": "…"},
    ]
    module = import_module("benchmarks.optimise")
    assert module.table({"trials": trials}).splitlines()[2:] == [
        "| tiny | `fold` | 5 → 3 | 2.00 → 1.50 | exact | 1.20x (1.10 to 1.30), faster | yes |",
        "| tiny | `fuse` | 5 → 3 | 2.00 → 1.50 | exact | 0.50x (0.40 to 0.60), slower | no: it is slower |",
        "| tiny | `transformer` | 5 → 3 | 2.00 → 1.50 | differ | 1.20x (1.10 to 1.30), faster "
        "| no: the answers differ |",
        "| tiny | `mend-batch` | | | | | no: rows / mix |",
        "| tiny | nothing to do for `cut` | | | | | |",
    ]
    assert module.broken({"trials": trials}) == []
    mended = [
        passed_over("lower-ir", "kept", verdict="slower"),
        passed_over("fuse", "kept", verdict="slower"),
    ]
    wrong = passed_over("half", "kept", passed=False)
    assert module.broken({"trials": [*mended, wrong]}) == ["tiny: fuse", "tiny: half"]


def test_no_pass_is_kept_against_the_claim() -> None:
    results = render.load()
    measured = results.get("optimise", {"data": {"trials": []}})
    assert import_module("benchmarks.optimise").broken(measured["data"]) == []


@pytest.mark.slow
def test_passes_are_measured_on_a_real_model() -> None:
    real("ocr-cls")
    module = import_module("benchmarks.optimise")
    found = {t["key"]: t for t in module.main(True)["trials"]}
    assert set(found) == {"the default", "fold", "fuse:extended"}
    assert all(t["passed"] and t["nodes"][1] < t["nodes"][0] for t in found.values())
    assert found["fold"]["changed"] == ["fold"] and found["fold"]["ratio"] > 0

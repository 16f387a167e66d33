"""The tables in README and docs are what the results say; every benchmark keeps to its shape."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import NAMES, __main__, fresh, render

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


def test_the_honesty_table_counts_false_claims_and_finds() -> None:
    def one(ratio: float, verdict: str) -> dict[str, Any]:
        span = {"low": ratio * 0.98, "high": ratio * 1.02}
        return {"ratio": ratio, "verdict": verdict, "void": False, "p50_ms": 4.2, **span}

    itself = [one(1.0, "no difference"), one(1.03, "faster"), one(0.97, "slower")]
    planted = [one(0.91, "slower"), one(0.95, "no difference")]
    data = {"slowdown": 0.1, "models": [{"model": "tiny", "itself": itself, "planted": planted}]}
    last = import_module("benchmarks.honesty").table(data).splitlines()[-1]
    assert last == "| tiny | 4.2 ms | 2 of 3 | 0.970 to 1.030 | 4.1 % | 1 of 2 | 0.910 to 0.950 | 0 |"


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

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotlap.bench import Comparison, Measurement, compare_measurements, read_history
from hotlap.cli import main
from tests.bench.results import measurement, process

EVEN = [0.01 * (1 + n / 1000) for n in range(12)]
SPREAD = [0.01 * (1 + 0.05 * (-1) ** n + n / 1000) for n in range(12)]


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as done:
        main(["compare", *map(str, args)])
    out, err = capsys.readouterr()
    assert isinstance(done.value.code, int)
    return done.value.code, out, err


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, Path]:
    sides = {"old": EVEN, "slow": [p * 1.08 for p in EVEN], "fast": [p / 2 for p in EVEN], "wide": SPREAD}
    for name, p50s in sides.items():
        measurement(p50s).save(tmp_path / f"{name}.json")
    return {name: tmp_path / f"{name}.json" for name in sides}


def test_two_files_and_their_names_tell_equal_labels_apart(
    saved: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, saved["old"], saved["fast"])
    assert code == 0 and err == ""
    assert out.startswith(f"{saved['fast']} against {saved['old']}\nfaster: p50 speed-up 2.000x")


@pytest.mark.parametrize(
    ("limit", "code"), [(None, 0), ("5%", 1), ("0.05", 1), ("0%", 1), ("10%", 0), ("0.1", 0)]
)
def test_the_gate_for_ci(
    saved: dict[str, Path], capsys: pytest.CaptureFixture[str], limit: str | None, code: int
) -> None:
    gate = [] if limit is None else ["--fail-if-slower", limit]
    found, out, _ = run(capsys, saved["old"], saved["slow"], *gate)
    assert found == code and "slower: p50 speed-up 0.926x" in out


def test_nothing_shown_passes_unless_it_is_strict(
    saved: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    gate = ["--fail-if-slower", "5%"]
    code, out, _ = run(capsys, saved["wide"], saved["wide"], *gate)
    assert code == 0 and "not enough data to say more: they differ by" in out
    assert run(capsys, saved["wide"], saved["wide"], *gate, "--strict")[0] == 1
    assert run(capsys, saved["old"], saved["old"], *gate, "--strict")[0] == 0


def test_a_void_run_is_called_void_and_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, factor in (("a", 1), ("b", 2)):
        loud = tuple(process(p * factor, order=n, foreign=0.5) for n, p in enumerate(EVEN))
        measurement(EVEN, processes=loud).save(tmp_path / name)
    files = tmp_path / "a", tmp_path / "b"
    code, out, _ = run(capsys, *files, "--fail-if-slower", "5%")
    assert code == 0 and out.startswith("VOID: other work disturbed this run, so the verdict says nothing")
    document = json.loads(run(capsys, *files, "--json")[1])
    assert document["void"] is True and document["doubts"][0].startswith("void")
    assert run(capsys, *files, "--strict")[0] == 1


def test_several_candidates_are_corrected_for_many_looks(
    saved: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, saved["old"], saved["slow"], saved["fast"], "--fail-if-slower", "5%")
    assert code == 1 and out.count("interval for 2 comparisons at once") == 2
    document = json.loads(run(capsys, saved["old"], saved["slow"], saved["fast"], "--json")[1])
    assert [c["looks"] for c in document["comparisons"]] == [2, 2]


def test_one_saved_comparison_is_compared_again(
    tmp_path: Path, saved: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    compare_measurements(measurement(EVEN), measurement([p * 1.08 for p in EVEN])).save(tmp_path / "c.json")
    assert run(capsys, tmp_path / "c.json", "--fail-if-slower", "5%")[0] == 1
    code, out, _ = run(capsys, saved["old"], tmp_path / "c.json")  # its candidate is what it was made about
    assert code == 0 and "slower: p50 speed-up 0.926x" in out


def test_it_can_be_saved_and_added_to_a_history(
    tmp_path: Path, saved: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "h.jsonl"
    run(capsys, saved["old"], saved["fast"], "--save", tmp_path / "c.json", "--history", history)
    assert Comparison.load(tmp_path / "c.json").verdict == "faster"
    assert [e.verdict for e in read_history(history)] == ["faster"]


def test_another_percentile_is_refused_where_the_samples_do_not_support_it(
    saved: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, saved["old"], saved["fast"], "--percentile", "99.9")
    assert code == 0 and "no difference: p99.9" in out
    assert "doubt: p99.9 needs 10,000 samples a side, there are 600" in out


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["none.json", "old"], "none.json: No such file"),
        (["old"], "one saved comparison"),
        (["old", "slow", "--fail-if-slower", "much"], "'much' is no share"),
        (["old", "slow", "--fail-if-slower", "5"], "say 5% if you mean percent"),
        (["old", "slow", "fast", "--save", "c.json"], "--save is for one comparison"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    saved: dict[str, Path], capsys: pytest.CaptureFixture[str], args: list[str], told: str
) -> None:
    code, out, err = run(capsys, *(saved.get(a, a) for a in args))
    assert code == 2 and out == "" and told in err and err.count("\n") == 1


def test_files_of_format_1_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    old = Path(__file__).parents[1] / "bench" / "formats" / "v1-measurement.json"
    assert Measurement.load(old).format == 1
    assert "no difference: p50 speed-up 1.000x" in run(capsys, old, old)[1]

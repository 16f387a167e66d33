from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from hotlap.bench import Comparison, Measurement, compare_measurements
from hotlap.cli import bench, main
from hotlap.errors import ModelError, ProviderUnavailable, TargetFailed
from tests import tiny
from tests.bench.results import measurement, process

EVEN = [0.01 * (1 + n / 1000) for n in range(12)]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save(tiny.mlp(), tmp_path / "m.onnx")


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as done:
        main(["bench", *map(str, args)])
    out, err = capsys.readouterr()
    assert isinstance(done.value.code, int)
    return done.value.code, out, err


def measured(monkeypatch: pytest.MonkeyPatch, result: Any) -> None:
    def give(*args: Any, **kwargs: Any) -> Any:
        if isinstance(result, BaseException):
            raise result
        return result

    monkeypatch.setattr(bench, "compare", give)
    monkeypatch.setattr(bench, "measure", give)


def test_a_model_alone(model: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept = tmp_path / "m.json"
    code, out, err = run(capsys, model, "--seconds", "0.05", "--processes", "2", "--save", kept)
    assert code == 0 and err == ""
    for what in ("m.onnx", "p50", "p95", "CPU time per request", "generated to fit", "spinning on"):
        assert what in out
    assert len(Measurement.load(kept).processes) == 2


def test_the_table_of_a_comparison(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, compare_measurements(measurement(EVEN), measurement([p / 2 for p in EVEN])))
    code, out, _ = run(capsys, model, "--against", model)
    assert code == 0
    assert "faster: p50 speed-up 2.000x, 95 % interval 1.99" in out
    assert "onnxruntime.InferenceSession(path), no options" in out
    assert "other work meanwhile took 0.0 % of the CPUs" in out
    assert "600 / 12" in out and "doubt" not in out
    assert max(len(line) for line in out.splitlines()[:14]) <= 80


def test_slower_is_a_gate_that_says_no(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, compare_measurements(measurement(EVEN), measurement([p * 2 for p in EVEN])))
    code, out, _ = run(capsys, model, "--against", model)
    assert code == 1 and "slower" in out


def test_a_void_run_says_so_first_and_gates_nothing(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loud = measurement(
        EVEN, processes=tuple(process(p * 2, order=n, foreign=0.5) for n, p in enumerate(EVEN))
    )
    quiet = measurement(EVEN, processes=tuple(process(p, order=n, foreign=0.5) for n, p in enumerate(EVEN)))
    measured(monkeypatch, compare_measurements(quiet, loud))
    code, out, _ = run(capsys, model, "--against", model)
    assert code == 0 and out.startswith("VOID")


def test_cpu_time_stands_beside_latency_so_that_spinning_shows(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spinning = measurement(
        EVEN, processes=tuple(process(p, order=n, cpu_s=2 * p * 50) for n, p in enumerate(EVEN))
    )
    measured(monkeypatch, compare_measurements(spinning, measurement(EVEN)))
    _, out, _ = run(capsys, model, "--against", model)
    (row,) = (line.split() for line in out.splitlines() if line.startswith("CPU time per request"))
    assert row[-4:] == ["20.1", "ms", "10.1", "ms"]


def test_json_is_one_document_without_the_samples(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compare_measurements(measurement(EVEN), measurement(EVEN))
    measured(monkeypatch, found)
    code, out, _ = run(capsys, model, "--against", model, "--json")
    document = json.loads(out)
    assert code == 0 and document["verdict"] == "no difference"
    assert document["a"]["processes"][0]["p50"] == pytest.approx(0.01)
    assert "samples" not in out


def test_saved_comparisons_keep_the_samples(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = compare_measurements(measurement(EVEN), measurement(EVEN))
    measured(monkeypatch, found)
    run(capsys, model, "--against", model, "--save", tmp_path / "c.json")
    assert msgspec.structs.asdict(Comparison.load(tmp_path / "c.json")) == msgspec.structs.asdict(found)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["none.onnx"], "none.onnx: no such file"),
        (["MODEL", "--against", "none.onnx"], "none.onnx: no such file"),
        (["MODEL", "--data", "none"], "none: no such file or folder"),
        (["MODEL", "--rows"], "--data"),
        (["MODEL", "--seconds", "0"], "seconds must be more than 0"),
        (["MODEL", "--processes", "0"], "processes must be 1 to 1000"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    model: Path, capsys: pytest.CaptureFixture[str], args: list[str], told: str
) -> None:
    code, out, err = run(capsys, *(str(model) if a == "MODEL" else a for a in args))
    assert code == 2 and out == ""
    assert told in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("cause", "code"), [(ProviderUnavailable("no GPU here"), 3), (ModelError("no GPU here"), 2), (None, 2)]
)
def test_what_the_process_raised_decides_the_exit_code(
    model: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    cause: Exception | None,
    code: int,
) -> None:
    failed = TargetFailed("m.onnx: no GPU here")
    failed.__cause__ = cause
    measured(monkeypatch, failed)
    found, _, err = run(capsys, model)
    assert found == code and "no GPU here" in err and "Traceback" not in err


def test_every_kind_of_traffic_has_its_options(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Any] = []

    def give(target: Any, workload: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(workload)
        return measurement(EVEN)

    monkeypatch.setattr(bench, "measure", give)
    (tmp_path / "t.txt").write_text("5\n5.5\n")
    run(capsys, model, "--rate", "50", "--concurrency", "2", "--iterations", "9", "--warmup", "1s")
    run(capsys, model, "--rate", "50", "--arrivals", "constant", "--duration", "300ms")
    run(capsys, model, "--trace", tmp_path / "t.txt", "--seed", "4", "--timeout", "2m")
    run(capsys, model, "--gap", "20ms", "--shapes", "x=1x{8:0.5,16:0.5}", "--shapes", "batch={1,2}")
    poisson, constant, trace, gap = asked
    assert (poisson.arrivals, poisson.rate, poisson.concurrency, poisson.iterations) == ("poisson", 50, 2, 9)
    assert poisson.warmup == 1.0 and (constant.arrivals, constant.seconds) == ("constant", 0.3)
    assert (trace.arrivals, trace.trace, trace.seed, trace.timeout) == ("trace", (0.0, 0.5), 4, 120.0)
    assert gap.gap == 0.02 and len(gap.shapes) == 2 and len(gap.shapes[0].choices) == 2


def test_a_callable_is_looked_for_in_the_current_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_own_net.py").write_text("def predict(feed):\n    return feed['x'] * 2\n")
    code, out, _ = run(
        capsys, "my_own_net:predict", "--shapes", "x=1x8", "--iterations", "30", "--processes", "2"
    )
    assert code == 0 and "the callable my_own_net:predict" in out and "60 / 2" in out


def test_several_baselines_or_several_models_are_one_run(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Any] = []

    def give(targets: Any, pairs: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(([t.label for t in targets], list(pairs)))
        slow = measurement([p * 2 for p in EVEN])
        return tuple(compare_measurements(measurement(EVEN), slow, looks=2) for _ in pairs)

    monkeypatch.setattr(bench, "compare_each", give)
    other = tmp_path / "other.onnx"
    other.write_bytes(model.read_bytes())
    assert run(capsys, model, "--against", other, "--against", model)[0] == 1
    code, out, _ = run(capsys, model, other, "--against", other, "--json")
    assert code == 1 and len(json.loads(out)["comparisons"]) == 2
    assert asked[0] == ([str(other), str(model), str(model)], [(0, 2), (1, 2)])
    assert asked[1] == ([str(other), str(model), str(other)], [(0, 1), (0, 2)])


def test_each_run_is_added_to_a_history(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from hotlap.bench import read_history

    measured(monkeypatch, measurement(EVEN))
    for _ in range(2):
        _, out, _ = run(capsys, model, "--history", tmp_path / "h.jsonl")
    assert len(read_history(tmp_path / "h.jsonl")) == 2 and "h.jsonl" in out


def test_a_void_run_is_void_in_json_too(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, measurement(EVEN, void=True))
    assert json.loads(run(capsys, model, "--json")[1])["void"] is True


def test_shapes_are_drawn_and_the_slowest_inputs_kept(
    model: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "slow"
    mix = "batch={1:0.5,512:0.5}"
    code, out, _ = run(
        capsys, model, "--shapes", mix, "--seconds", "0.1", "--processes", "2", "--keep-inputs", kept
    )
    assert code == 0 and "slowest first call of a shape" in out and "feeds of the given shapes" in out
    assert len(list(kept.glob("*.npz"))) == 10


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["MODEL", "--arrivals", "poisson"], "--rate"),
        (["MODEL", "--rate", "5", "--trace", "t.txt"], "otherwise"),
        (["MODEL", "--trace", "none.txt"], "none.txt: No such file"),
        (["MODEL", "--rate", "5", "--gap", "1s"], "a gap is a pause of a closed loop"),
        (["MODEL", "--shapes", "x=1xmany"], "is no shape"),
        (["MODEL", "--data", "d", "--shapes", "x=1x3"], "--data has shapes of its own"),
        (["MODEL", "MODEL"], "one --against"),
        (["MODEL", "MODEL", "--against", "MODEL", "--against", "MODEL"], "one MODEL against several"),
        (["MODEL", "MODEL", "--against", "MODEL", "--save", "x"], "--save and --keep-inputs are for one"),
        (["no_such_module:f", "--shapes", "x=1x3"], "no module no_such_module"),
    ],
)
def test_options_that_do_not_go_together_are_one_line_and_exit_code_2(
    model: Path, capsys: pytest.CaptureFixture[str], args: list[str], told: str
) -> None:
    code, out, err = run(capsys, *(str(model) if a == "MODEL" else a for a in args))
    assert code == 2 and out == ""
    assert told in err and err.count("\n") == 1


def test_the_ways_to_call_a_model(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--calls", model, "--seconds", "0.01")
    assert (code, err) == (0, "")
    for way in (
        "run(None, feed)",
        "run_with_ort_values",
        "fresh binding",
        "prebound",
        "hotlap run",
        "hotlap step",
    ):
        assert way in out
    assert "hotlap run is bound: every input and output is a tensor of numbers" in out


def test_the_ways_as_json_and_with_data(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "x.npz", x=np.ones((3, 16), np.float32))
    code, out, _ = run(
        capsys, "--calls", model, "--json", "--seconds", "0.01", "--data", tmp_path / "x.npz", "--rows"
    )
    ways = {w["name"]: w for w in json.loads(out)["ways"]}
    assert code == 0 and ways["run(None, feed)"]["ratio"] == 1
    assert run(capsys, "--calls", model, "--against", model)[0] == 2


@pytest.mark.parametrize("option", ["--save", "--history"])
def test_the_model_is_not_written_over(option: str, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = model.read_bytes()
    code, _, err = run(capsys, model, "--seconds", "0.05", "--processes", "1", option, model)
    assert code == 2 and "is what is read here; name another file to write" in err
    assert model.read_bytes() == before

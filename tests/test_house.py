"""The rules of the house, as tests: who mirrors whom, which names are public, what stays unloaded."""

from __future__ import annotations

import ast
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import hotlap

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hotlap"

PUBLIC = {
    "Comparison", "FakeRunner", "HotlapError", "Machine", "Measurement", "Model", "Plan", "Runner",
    "TensorSpec", "Tuning", "Verdict", "Workload", "compare", "measure", "open",
}  # fmt: skip

# Modules that hold no logic of their own to test, each with the reason.
NO_TEST_OF_ITS_OWN = {
    "__init__": "the public names: tested here",
    "__main__": "two lines: tested by the command line's tests",
    "errors": "a tree of names: tested here and by everyone who raises them",
    "providers/base": "the base class of the providers: tested with them",
}


def modules() -> list[str]:
    found = (p.relative_to(SOURCE).with_suffix("").as_posix() for p in SOURCE.rglob("*.py"))
    return sorted(m for m in found if not (m.endswith("/__init__") and _only_names(SOURCE / f"{m}.py")))


def _only_names(path: Path) -> bool:
    """Whether a package's front page holds nothing but imports and names."""
    body = ast.parse(path.read_text()).body
    return all(
        isinstance(n, ast.Import | ast.ImportFrom | ast.Expr | ast.Assign | ast.AnnAssign | ast.If)
        for n in body
    )


def expected_test(module: str) -> Path:
    folder, _, name = module.rpartition("/")
    name = "init" if name == "__init__" else name
    return ROOT / "tests" / folder / f"test_{name}.py"


@pytest.mark.parametrize("module", modules())
def test_every_module_has_a_test_at_the_same_path(module: str) -> None:
    if module in NO_TEST_OF_ITS_OWN:
        return
    assert expected_test(module).exists(), f"no test for {module}: expected {expected_test(module)}"


def test_public_names_are_these_and_each_can_be_had() -> None:
    assert set(hotlap.__all__) == PUBLIC
    assert {name for name in PUBLIC if getattr(hotlap, name, None) is None} == set()
    assert set(dir(hotlap)) >= PUBLIC


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        hotlap.no_such_name  # noqa: B018


def loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_hot_rooms_load_neither_graph_libraries_nor_the_command_line() -> None:
    heavy = {"onnx", "onnx_ir", "torch", "ml_dtypes", "click", "rich"}
    code = "import hotlap.runtime, hotlap.plan, hotlap.providers, hotlap.serve.loading, hotlap.serve.serving"
    assert loaded_after(code) & heavy == set()


def test_importing_hotlap_loads_no_runtime_yet() -> None:
    assert loaded_after("import hotlap") & {"onnxruntime", "onnx", "click", "rich", "msgspec"} == set()


def test_errors_are_one_tree_and_say_who_must_act() -> None:
    from hotlap import errors

    kinds = {n: getattr(errors, n) for n in errors.__all__}
    assert all(issubclass(k, errors.HotlapError) for k in kinds.values())
    assert all(n in (errors.__doc__ or "") for n in kinds), "the drawn tree shows every kind"
    assert str(errors.MissingExtra("cpu", "running a model")) == (
        "running a model needs an extra: pip install 'hotlap[cpu]'"
    )


def test_nothing_that_comes_from_elsewhere_is_unpickled() -> None:
    """A pickle runs what it holds. Whoever asks the server or names a file must not be able to give one."""
    for file in (ROOT / "src").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        names = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not names & {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}, file
        assert "allow_pickle=True" not in text, file


def test_nothing_names_a_path_of_a_machine() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in files.split():
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".json"} and name != "tests/test_house.py":
            text = path.read_text(encoding="utf-8")
            assert "/work/" not in text and "/root/" not in text, name


def test_opening_a_model_does_not_load_masked_arrays(tmp_path: Path) -> None:
    from tests import tiny

    model = tiny.save(tiny.mlp(), tmp_path / "m.onnx")
    script = f"import hotlap, sys\nhotlap.open({str(model)!r})\nassert 'numpy.ma' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_no_drawn_example_is_held_to_a_time() -> None:
    assert settings.default is not None and settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


@pytest.mark.thread_unsafe(reason="levels of logs are one for all threads")
@pytest.mark.parametrize("level", [logging.DEBUG, logging.CRITICAL])
@pytest.mark.parametrize("name", ["", "hotlap.runtime"])
def test_a_captured_log_hangs_on_no_test_before_it(
    request: pytest.FixtureRequest, name: str, level: int
) -> None:
    logger, log = logging.getLogger(name), logging.getLogger("hotlap.runtime")
    before = logger.level
    logger.setLevel(level)  # as another test may leave it
    try:
        caplog = request.getfixturevalue("caplog")
        log.info("not heard")
        log.warning("heard")
        with caplog.at_level(logging.INFO):
            log.info("asked for")
        assert [record.message for record in caplog.records] == ["heard", "asked for"]
    finally:
        logger.setLevel(before)

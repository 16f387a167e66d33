from __future__ import annotations

import shlex
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest

from hotlap.inspect.finding import Finding
from hotlap.inspect.telling import page, with_paths
from tests.inspect.test_github import with_findings


def told(folder: Path, path: str, fix: str) -> str:
    finding = Finding(code="HL101", severity="error", message="m", fix=fix)
    return with_paths(with_findings(folder, finding, path=path)).findings[0].fix


@pytest.mark.parametrize(
    ("path", "asked", "out"),
    [
        ("model.onnx", "--fix HL101", "model.HL101.onnx"),
        ("a b/it's.onnx", "--fix HL301:21", "a b/it's.HL301-21.onnx"),
        ("-m.onnx", "--pass external-weights", "./-m.external-weights.onnx"),
    ],
)
def test_the_command_names_the_file(tmp_path: Path, path: str, asked: str, out: str) -> None:
    fix = told(tmp_path, path, f"hotlap optimize MODEL {asked} -o OUT.onnx")
    model = path if not path.startswith("-") else f"./{path}"
    expected = ["hotlap", "optimize", model, *asked.split(), "-o", out]
    assert [w.replace("\\", "/") for w in shlex.split(fix)] == expected


def test_other_advice_stays_and_a_command_inside_it_is_named(tmp_path: Path) -> None:
    assert told(tmp_path, "m.onnx", "rename one of the two") == "rename one of the two"
    fix = told(tmp_path, "m.onnx", "first hotlap optimize MODEL --fix HL404 -o OUT.onnx, then again")
    assert fix == "first hotlap optimize m.onnx --fix HL404 -o m.HL404.onnx, then again"


def test_a_page_is_where_the_package_says(monkeypatch: pytest.MonkeyPatch) -> None:
    package = Message()
    monkeypatch.setattr(metadata, "metadata", lambda name: package)
    assert page("HL101") == "docs/reference/findings/HL101.md"
    package["Project-URL"] = "Documentation, https://example.com/tree/main/"
    assert page("HL101") == "https://example.com/tree/main/docs/reference/findings/HL101.md"

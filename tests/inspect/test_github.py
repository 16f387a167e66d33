from __future__ import annotations

from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hotlap.inspect import Inspection
from hotlap.inspect.finding import Finding
from hotlap.inspect.github import failure_command, workflow_commands
from tests.inspect.test_inspection import inspection

DOCS = "%0Adocs: docs/reference/findings/HL403.md"


def with_findings(folder: Path, *findings: Finding, path: str = "m.onnx") -> Inspection:
    found = inspection(folder)
    anatomy = msgspec.structs.replace(found.anatomy, path=path)
    return msgspec.structs.replace(found, anatomy=anatomy, findings=findings)


def test_a_finding_is_one_annotation(tmp_path: Path) -> None:
    finding = Finding(code="HL403", severity="info", message="text", node='Add "a"', fix="none")
    lines = list(workflow_commands(with_findings(tmp_path, finding)))
    assert lines == ['::notice file=m.onnx,title=HL403 Text goes in or out::text%0AAdd "a"%0Anone' + DOCS]


def test_severities_have_githubs_names(tmp_path: Path) -> None:
    findings = [Finding(code="HL403", severity=s, message="m") for s in ("error", "warning", "info")]
    lines = list(workflow_commands(with_findings(tmp_path, *findings)))
    assert [line.split()[0] for line in lines] == ["::error", "::warning", "::notice"]


def test_what_would_end_a_property_or_a_line_is_escaped(tmp_path: Path) -> None:
    finding = Finding(code="HL403", severity="error", message="100%\r\n::set-output name=x::y")
    (line,) = workflow_commands(with_findings(tmp_path, finding, path="a,b:c%.onnx"))
    assert line == (
        "::error file=a%2Cb%3Ac%25.onnx,title=HL403 Text goes in or out::100%25%0D%0A::set-output name=x::y"
        + DOCS
    )


def test_whatever_a_name_holds_stays_on_its_line(tmp_path: Path) -> None:
    @given(st.text(min_size=1), st.text())
    def one_line(message: str, node: str) -> None:
        finding = Finding(code="HL403", severity="error", message=message, node=node)
        (line,) = workflow_commands(with_findings(tmp_path, finding))
        assert "\n" not in line and "\r" not in line
        assert line.isprintable()
        text = line.split("::", 2)[2]
        back = text.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
        said = "\n".join(filter(None, (message, node, "docs: docs/reference/findings/HL403.md")))
        assert back == said or not said.replace("\n", "").replace("\r", "").isprintable()

    one_line()


def test_a_model_that_cannot_be_read_is_one_annotation() -> None:
    assert failure_command("a:b.onnx", "cut\nshort") == (
        "::error file=a%3Ab.onnx,title=hotlap inspect::cut%0Ashort"
    )

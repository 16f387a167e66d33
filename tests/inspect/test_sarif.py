from __future__ import annotations

from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest

from hotlap.inspect import RULES
from hotlap.inspect.finding import Finding
from hotlap.inspect.sarif import sarif, sarif_of_failure
from tests.inspect.test_github import with_findings

FINDINGS = (
    Finding(code="HL412", severity="error", message="twice", node='Add "a"', tensor="y", fix="rename"),
    Finding(code="HL403", severity="info", message="text", cost="a copy"),
    Finding(code="HL412", severity="error", message="thrice"),
)


def test_the_log_has_what_the_format_requires(tmp_path: Path) -> None:
    log = sarif(with_findings(tmp_path, *FINDINGS, path="a b/m.onnx"))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], bool(driver["version"])) == ("hotlap", True)
    assert [rule["id"] for rule in driver["rules"]] == ["HL403", "HL412"]
    for result in run["results"]:
        assert set(result) == {"ruleId", "ruleIndex", "level", "message", "locations", "properties"}
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert (place["uri"], place["index"]) == ("a%20b/m.onnx", 0)
        assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
        assert run["artifacts"][place["index"]]["location"]["uri"] == place["uri"]
    assert len(run["artifacts"][0]["hashes"]["sha-256"]) == 64


def test_nodes_and_tensors_are_logical_places(tmp_path: Path) -> None:
    results = sarif(with_findings(tmp_path, *FINDINGS))["runs"][0]["results"]
    assert results[0]["locations"][0]["logicalLocations"] == [
        {"fullyQualifiedName": 'Add "a"', "kind": "function"},
        {"fullyQualifiedName": "y", "kind": "variable"},
    ]
    assert "logicalLocations" not in results[1]["locations"][0]
    assert results[0]["message"]["text"] == "twice. rename."
    assert (results[1]["level"], results[1]["properties"]) == ("note", {"cost": "a copy"})


def test_a_rule_tells_where_its_page_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rule() -> dict[str, object]:
        found: dict[str, object] = sarif(with_findings(tmp_path, FINDINGS[1]))["runs"][0]["tool"]["driver"][
            "rules"
        ][0]
        return found

    package = Message()
    monkeypatch.setattr(metadata, "metadata", lambda name: package)
    assert "helpUri" not in rule()
    assert rule()["help"] == {"text": "See docs/reference/findings/HL403.md."}
    assert rule()["shortDescription"] == {"text": f"{RULES['HL403'].title}."}
    package["Project-URL"] = "Source, https://example.com/src"
    package["Project-URL"] = "Documentation, https://example.com/tree/main/"
    assert rule()["helpUri"] == "https://example.com/tree/main/docs/reference/findings/HL403.md"


def test_a_clean_model_is_a_run_without_results(tmp_path: Path) -> None:
    (run,) = sarif(with_findings(tmp_path))["runs"]
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


def uri(folder: Path, path: str) -> str:
    (run,) = sarif(with_findings(folder, FINDINGS[0], path=path))["runs"]
    found: str = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    return found


def test_a_file_below_the_working_folder_is_named_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    assert uri(tmp_path, str(tmp_path / "a" / "b c" / "m.onnx")) == "b%20c/m.onnx"
    assert uri(tmp_path, "./m.onnx") == "m.onnx"
    assert uri(tmp_path, "../m.onnx") == "../m.onnx"
    assert uri(tmp_path, str(tmp_path / "m.onnx")) == (tmp_path / "m.onnx").as_uri()


def test_a_command_stands_without_a_full_stop(tmp_path: Path) -> None:
    finding = Finding(code="HL407", severity="info", message="dead", fix="hotlap optimize m.onnx -o o.onnx")
    (result,) = sarif(with_findings(tmp_path, finding))["runs"][0]["results"]
    assert result["message"]["text"] == "dead. Mend it by: hotlap optimize m.onnx -o o.onnx"


def test_a_model_that_cannot_be_read_is_a_run_that_failed() -> None:
    (run,) = sarif_of_failure("m.onnx", "cut short")["runs"]
    assert run["results"] == [] and run["tool"]["driver"]["rules"] == []
    (ended,) = run["invocations"]
    assert ended["executionSuccessful"] is False
    (said,) = ended["toolExecutionNotifications"]
    assert (said["level"], said["message"]) == ("error", {"text": "cut short."})
    assert said["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "m.onnx"}

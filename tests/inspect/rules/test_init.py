from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest

from hotlap.inspect import RULES, THEMES
from hotlap.inspect import rules as package
from hotlap.inspect.finding import Rule
from hotlap.inspect.rules import find_all
from tests import tiny
from tests.inspect.cases import case_of

ROOT = Path(__file__).parents[3]
FILES = sorted(p for p in (ROOT / "src/hotlap/inspect/rules").glob("*.py") if p.name != "__init__.py")


def test_every_file_is_in_the_list_in_the_order_of_the_codes() -> None:
    listed = [module.__name__.rpartition(".")[2] for module in package._MODULES]
    assert sorted(listed) == [p.stem for p in FILES]
    assert list(RULES) == sorted(RULES)
    assert len(RULES) == len(FILES), "no code twice"
    assert len({rule.name for rule in RULES.values()}) == len(FILES)


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_every_rule_has_a_page_and_a_theme(rule: Rule) -> None:
    page = ROOT / "docs/reference/findings" / f"{rule.code}.md"
    assert page.is_file(), f"write {page.relative_to(ROOT)}"
    assert page.read_text("utf-8").startswith(f"# {rule.code}")
    assert rule.code[:3] in THEMES
    assert rule.code[3:].isdecimal()
    assert rule.title[0].isupper() and not rule.title.endswith(".")


def test_every_page_has_a_rule() -> None:
    pages = {p.stem for p in (ROOT / "docs/reference/findings").glob("HL*.md")}
    assert pages == set(RULES)


@pytest.mark.parametrize("file", FILES, ids=[p.stem for p in FILES])
def test_every_rule_is_tested_both_ways(file: Path) -> None:
    test = ROOT / "tests/inspect/rules" / f"test_{file.stem}.py"
    assert test.is_file(), f"write {test.relative_to(ROOT)}"
    tests = [
        ast.unparse(n)
        for n in ast.parse(test.read_text("utf-8")).body
        if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")
    ]
    marks = (".severity", ".message", ".tensor", ".node")
    assert any(any(m in t for m in marks) for t in tests), "a model that has it"
    assert any("== []" in t or "assert not " in t for t in tests), "a model that does not"


def test_a_rule_that_needs_a_run_is_skipped_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = Rule(code="HL999", name="n", title="T", severity="info", needs="run")
    module = SimpleNamespace(RULE=rule, find=lambda case: iter([rule.found("seen")]))
    monkeypatch.setattr(package, "_MODULES", (module,))
    assert list(find_all(case_of(tiny.add(), tmp_path))) == []


def test_of_very_many_findings_the_rest_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule(code="HL999", name="n", title="T", severity="info")
    module = SimpleNamespace(RULE=rule, find=lambda case: (rule.found(str(n)) for n in range(70)))
    monkeypatch.setattr(package, "_MODULES", (module,))
    told: list[str] = []
    assert len(list(find_all(case_of(tiny.add(), tmp_path), told.append))) == 50
    assert told == ["HL999: 20 more findings of this kind are left out"]


def test_a_rule_that_fails_is_told_and_the_others_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Rule(code="HL998", name="n", title="T", severity="info")
    second = Rule(code="HL999", name="m", title="T", severity="info")

    def broken(case: object) -> object:
        yield first.found("half")
        raise KeyError("lost")

    modules = (
        SimpleNamespace(RULE=first, find=broken),
        SimpleNamespace(RULE=second, find=lambda case: iter([second.found("seen")])),
    )
    monkeypatch.setattr(package, "_MODULES", modules)
    told: list[str] = []
    assert [f.message for f in find_all(case_of(tiny.add(), tmp_path), told.append)] == ["seen"]
    assert told == ["HL998: the rule failed on this model: KeyError: 'lost'"]

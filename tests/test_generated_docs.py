"""The tables of the documentation that are made from the code are as the code is now."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hotlap.plan import Plan

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_page_is_current(generate: ModuleType) -> None:
    stale = [str(p.relative_to(ROOT)) for p in generate.stale_pages()]
    assert stale == [], "python docs/generate.py writes them anew"


def test_every_table_is_on_a_page(generate: ModuleType) -> None:
    pages = "".join(p.read_text("utf-8") for p in (ROOT / "docs").rglob("*.md"))
    assert set(generate.TABLES) == set(re.findall(r"<!-- generated: ([\w.-]+) -->", pages))


def test_a_block_is_made_anew_and_the_rest_stays(
    generate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(generate.TABLES, "x", lambda: generate.table(("a", "b"), [("1|2", "3")]))
    page = "before\n<!-- generated: x -->\nold\n<!-- end -->\nafter\n"
    assert generate.current(page) == (
        "before\n<!-- generated: x -->\n\n| a | b |\n| --- | --- |\n| 1\\|2 | 3 |\n\n<!-- end -->\nafter\n"
    )
    assert generate.current(generate.current(page)) == generate.current(page)


def test_the_plans_shown_are_plans() -> None:
    shown = [
        toml
        for name in ("plan.md", "providers.md")
        for toml in re.findall(
            r"```toml\n(.*?)```", (ROOT / "docs" / "reference" / name).read_text("utf-8"), re.DOTALL
        )
    ]
    assert len(shown) == 4
    for toml in shown:
        Plan.loads(toml)

from __future__ import annotations

import click
from click.testing import CliRunner

from hotlap.cli.gates import gate_options, max_drop_option
from hotlap.verify import LEVELS


@click.command()
@gate_options("the strictest")
@max_drop_option
def judge(level: str | None, scores: tuple[tuple[str, int], ...], max_drop: float | None) -> None:
    click.echo(f"{level} {dict(scores)} {max_drop}")


def said(*words: str) -> str:
    return CliRunner().invoke(judge, words).output


def test_what_is_asked_reaches_the_verb() -> None:
    assert said() == "None {} None\n"
    asked = ("--level", "close", "--scores", "y:-1", "--scores", "z:1", "--max-drop", "0.5%")
    assert said(*asked) == "close {'y': -1, 'z': 1} 0.005\n"


def test_every_level_can_be_asked_for_and_the_default_is_told() -> None:
    assert all(said("--level", level).startswith(level) for level in LEVELS)
    assert "default: the strictest" in " ".join(said("--help").split())
    assert "Invalid value" in said("--level", "exakt")

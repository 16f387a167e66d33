"""``hotlap verify A [B]``: do two models give the same answers, and if not, where do they part?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hotlap.cli.console import SAID_NO, common_options, print_json, terminal
from hotlap.cli.gates import gate_options, max_drop_option
from hotlap.cli.types import DURATION, FUNCTION

if TYPE_CHECKING:
    from hotlap.verify import Divergence, Examination, Walked

UNDECIDED = 2
"""The data cannot tell: as wrong usage, since it takes more data or another question."""


@click.command("verify")
@click.argument("reference", type=click.Path())
@click.argument("candidate", type=click.Path(), required=False)
@click.option(
    "--data",
    metavar="INPUTS",
    help="Your inputs: a .npz (one feed), a folder of them, a .parquet (a feed a row), or module:function.",
)
@click.option("--rows", is_flag=True, help="Each .npz holds many feeds along axis 0.")
@gate_options("task with --metric, else exact")
@click.option(
    "--boxes", multiple=True, metavar="NAME[:FORM]", help="An output of boxes: xyxy (default), xywh, cxcywh."
)
@click.option(
    "--metric",
    type=FUNCTION,
    metavar="MODULE:FUNCTION",
    help="Your score, for the gate task; higher is better.",
)
@click.option("--labels", metavar="FILE", help="The metric's labels: .npy, .npz, .json, text, or a column.")
@max_drop_option
@click.option("--bisect", is_flag=True, help="Name the first node at which the two part, or that gives NaN.")
@click.option(
    "--save-worst",
    type=click.Path(dir_okay=False),
    metavar="FILE.npz",
    help="Where to keep the worst input; default: CANDIDATE.worst.npz here, if the answer is no.",
)
@click.option("--no-save", is_flag=True, help="Do not keep the worst input.")
@click.option("--timeout", type=DURATION, default="120s", show_default=True, help="After which one hangs.")
@common_options
def command(
    reference: str,
    candidate: str | None,
    data: str | None,
    rows: bool,
    level: str | None,
    scores: tuple[tuple[str, int], ...],
    boxes: tuple[str, ...],
    metric: Any,
    labels: str | None,
    max_drop: float | None,
    bisect: bool,
    save_worst: str | None,
    no_save: bool,
    timeout: float,
    as_json: bool,
) -> int:
    """Judge whether CANDIDATE gives the answers of REFERENCE; exit 0 if so, 1 if not.

    Each is a model, a plan, a .lap folder, or a Python callable (module:name). Without a CANDIDATE, the model
    as ONNX Runtime optimises it is judged against the same model without optimisation.

    Without --data, inputs of several shapes are made to fit the signature, and the gate is exact.
    """
    from msgspec.structs import replace

    from hotlap.bench.target import target_of
    from hotlap.plan.files import check_apart
    from hotlap.verify import examine
    from hotlap.verify.given import given_data, given_labels
    from hotlap.verify.levels import level_asked

    if save_worst is not None and no_save:
        raise click.UsageError("--save-worst and --no-save exclude each other")
    asked = level_asked(
        level,
        given=data is not None,
        metric=metric is not None,
        max_drop=max_drop is not None,
        labels=labels is not None,
        otherwise="exact",
    )
    worst = None if no_save else save_worst or f"{_stem(candidate or reference)}.worst.npz"
    if worst is not None:
        check_apart(worst, filter(None, (data, labels)))
    inputs = None if data is None else given_data(data, rows)
    known = None if labels is None else given_labels(labels, inputs)
    right, judged = target_of(reference), None if candidate is None else target_of(candidate)
    if judged is not None and judged.label == right.label:  # two files of one name in two folders
        right, judged = replace(right, label=reference), replace(judged, label=str(candidate))
    found = examine(
        right,
        judged,
        inputs,
        asked,
        scores=dict(scores),
        boxes=dict(_boxes(text) for text in boxes),
        metric=metric,
        max_drop=max_drop,
        labels=known,
        save_worst=worst,
        walk=bisect,
        timeout=timeout,
    )
    if as_json:
        print_json(found)
    else:
        _show(found, bisect)
    if found.verdict.undecided:
        return UNDECIDED
    return 0 if found.verdict.passed else SAID_NO


def _boxes(text: str) -> tuple[str, str]:
    name, colon, form = text.rpartition(":")  # an output's name may hold colons itself
    return (name, form) if colon and form.isalpha() else (text, "xyxy")


def _stem(target: str) -> str:
    return Path(target).stem.replace(":", ".") or "model"


def _show(found: Examination, bisect: bool) -> None:
    from rich.text import Text

    from hotlap.cli.differences import tables

    console = terminal()
    verdict = found.verdict
    console.print(Text(f"{found.candidate} against {found.reference}"))
    if verdict.outputs:
        for part in tables(verdict.outputs, console.width):
            console.print(part)
    word = "agree" if verdict.passed else "undecided" if verdict.undecided else "differ"
    style = {"agree": "bold green", "undecided": "bold yellow"}.get(word, "bold red")
    console.print(Text(f"{word}: ", style=style) + Text(verdict.reason))
    made = "made to fit the signature (give --data for your own)" if verdict.generated else "given"
    console.print(Text(f"judged: {verdict.rows:,} rows of {verdict.inputs:,} inputs, {made}"))
    if verdict.worst and not verdict.passed:
        console.print(Text(f"worst: {verdict.worst}"))
    if found.saved:
        console.print(Text(f"that input: {found.saved} (hotlap run MODEL --input {found.saved})"))
    for note in verdict.notes:
        console.print(Text(f"note: {note}", style="yellow"))
    if verdict.unlock:
        console.print(Text(f"to go on: {verdict.unlock}"))
    _show_cause(found, bisect)


def _show_cause(found: Examination, bisect: bool) -> None:
    from rich.text import Text

    console = terminal()
    if found.blame is not None:
        names = ";".join(found.blame.optimisers)
        said = (
            f"optimiser: without {names} the answers agree; a plan leaves it out with "
            f'optimization.disable_specified_optimizers = "{found.blame.setting}"'
            if names
            else f"optimiser: no set of the {len(found.blame.changed)} that changed the graph explains it"
        )
        console.print(Text(said, style="bold"))
    if found.unexplained:
        console.print(Text(f"cause: not found: {found.unexplained}", style="yellow"))
    if found.walked is not None:
        for line in _walk_lines(found.walked):
            console.print(Text(line))
    elif bisect and found.verdict.passed and not found.unexplained:
        console.print(Text("bisect: nothing to look for, the answers agree"))


def _walk_lines(walked: Walked) -> list[str]:
    seen = f"{walked.compared:,} of {walked.values:,} values looked at"
    if walked.by and walked.compared:
        seen += f", paired by {walked.by}"
    left_out = []
    if walked.refused:
        many = f"input{'s' if len(walked.refused) > 1 else ''} {', '.join(map(str, walked.refused))}"
        left_out = [f"  without {many}: {walked.why_refused}"]
    if walked.found is None:
        return [f"bisect: {_nothing(walked)} ({seen}){_aside(walked)}", *left_out]
    lines = [f"bisect: first {walked.found.label}"]
    if walked.found.other:
        lines.append(f"  in the candidate it is {walked.found.other}")
    lines += [_input_line(walked.found, n) for n in range(len(walked.found.inputs))]
    return [*lines, f"  ({seen})", *left_out]


def _nothing(walked: Walked) -> str:
    if not walked.compared:
        return "there is no input to compare the nodes on" if walked.refused else "nothing could be looked at"
    if not walked.by:
        return "no node makes NaN or +infinity; -infinity is how masks are written"
    return "no node differs"


def _aside(walked: Walked) -> str:
    if not walked.by or not walked.compared:
        return ""
    return ", graph optimisation aside: hotlap verify each model alone shows whether that is what differs"


def _input_line(found: Divergence, number: int) -> str:
    seen = found.inputs[number]
    return f'  its input "{seen.name}": {seen.said}'

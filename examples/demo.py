"""The main job on two real models: tune them on real inputs, and see that the answers stay (`make demo`).

    python examples/demo.py [--seconds 90]

It reads lines of text from pictures, and finds the most similar of 80 sentences: once with ONNX Runtime as
it comes, once with the plan that hotlap found. What it makes lies in demo/ afterwards.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # so that `python examples/demo.py` finds the package `examples`

import hotlap  # noqa: E402
from examples.inputs import decode, pictures, texts  # noqa: E402
from examples.inputs.models import RealModel, named  # noqa: E402
from hotlap.runtime import default_session  # noqa: E402
from hotlap.tune import Budget, Tuning, tune  # noqa: E402

Run = Callable[[Mapping[str, Any]], Mapping[str, Any]]
LINES = 64


@dataclass(frozen=True)
class Reading:
    """A model's answers in words: the one for the table, and one for each input."""

    headline: str
    each: list[str]


@dataclass(frozen=True)
class Job:
    """One model, its inputs, and how a person reads what it answers.

    Attributes:
        title: what is done.
        model: the model.
        feeds: its real inputs.
        folder: below demo/, for the plan.
        read: from a function that runs the model to the answers in words.
        unit: what is counted when both sides agree.
    """

    title: str
    model: RealModel
    feeds: list[dict[str, Any]]
    folder: str
    read: Callable[[Run], Reading]
    unit: str


def reading(out: Path) -> Job:
    """Lines of text are rendered, saved as pictures, and read."""
    model = named("ocr-rec")
    drawn = list(pictures.lines(pictures.phrases(LINES)))
    feeds = [{"x": pictures.recognition(image)} for image in drawn]
    (out / "pictures").mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(drawn):
        image.save(out / "pictures" / f"line-{number:02}.png")
    np.save(out / "line.npy", feeds[0]["x"])
    metadata = default_session(model.path).session.get_modelmeta().custom_metadata_map
    classes = decode.characters(metadata["character"])

    def read(run: Run) -> Reading:
        each = [decode.greedy(next(iter(run(feed).values()))[0], classes).strip() for feed in feeds]
        return Reading(f"line-00.png reads: {each[0]}", each)

    return Job("reads text from pictures", model, feeds, "reader.lap", read, "lines read alike")


def comparing() -> Job:
    """Sentences are turned into vectors, and the most similar are found."""
    model = named("minilm")
    feeds = model.feeds(len(texts.SENTENCES))

    def read(run: Run) -> Reading:
        vectors = np.concatenate([run(feed)["461"] for feed in feeds])
        a, b, cosine = decode.most_similar(vectors)
        alike = decode.cosines(vectors)
        np.fill_diagonal(alike, -2)
        headline = f'most similar: "{texts.SENTENCES[a]}" and "{texts.SENTENCES[b]}", cosine {cosine:.3f}'
        return Reading(headline, [texts.SENTENCES[n] for n in alike.argmax(axis=1)])

    return Job("finds similar sentences", model, feeds, "sentences.lap", read, "nearest sentences alike")


def tuned(job: Job, out: Path, seconds: float, console: Console) -> Tuning:
    """The search, with a bar."""
    columns = (
        TextColumn("{task.description:<26}"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(job.title, total=seconds, now="")
        return tune(
            job.model.path,
            out / job.folder,
            data=job.feeds,
            budget=Budget(seconds=seconds),
            scores=job.model.scores,
            force=True,
            on_progress=lambda spent, now: bar.update(task, completed=spent, now=now[:60]),
        )


def result(job: Job, tuning: Tuning, out: Path) -> dict[str, str]:
    """One column of the table: what was found, and what both sides answer."""
    before = job.read(default_session(job.model.path).run)
    with hotlap.open(out / job.folder) as runner:
        after = job.read(runner.run)
    alike = sum(a == b for a, b in zip(before.each, after.each, strict=True))
    found = {"": job.title, "model": job.model.path.name}
    said = tuning.verdict
    found |= measured(tuning)
    return found | {
        "plan": tuning.chosen,
        "agreement": f"{alike} of {len(after.each)} {job.unit}" + (f"; {said.reason}" if said else ""),
        "answer, default ORT": before.headline,
        "answer, tuned": after.headline,
    }


def measured(tuning: Tuning) -> dict[str, str]:
    """The rows with the numbers: the ratio first. Where nothing is faster the plan is the default itself."""
    found = tuning.comparison
    if found is None:
        return {"ratio": "1: the default stays, nothing else ran"}
    interval = f"{found.ratio:.2f} ({found.low:.2f} to {found.high:.2f})"
    if not tuning.won:
        why = "too much else ran to tell" if found.void else f"the best other came out at {interval}"
        return {"ratio": f"1: the default stays; {why}"}
    p50 = f"p50 {found.a.p50 * 1e3:.2f} ms became {found.b.p50 * 1e3:.2f} ms"
    return {"ratio": f"{interval} times as fast; {p50}"}


def table(columns: Sequence[Mapping[str, str]]) -> Table:
    """One column for each model; ratios in bold."""
    made = Table(title="default ONNX Runtime against the plan that was found", show_lines=True)
    for number, name in enumerate(columns[0]):
        cells = [Text(column.get(name, "")) for column in columns]
        if number == 0:
            made.add_column()
            for cell in cells:
                made.add_column(cell, overflow="fold")
        else:
            made.add_row(Text(name), *cells, style="bold" if name == "ratio" else "")
    return made


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90, help="to tune each of the two models (90)")
    parser.add_argument("--out", type=Path, default=ROOT / "demo", help="where to write (demo/)")
    arguments = parser.parse_args(argv)
    console, out = Console(), arguments.out
    out.mkdir(parents=True, exist_ok=True)
    console.print(f"Two real models, {arguments.seconds:g} s of tuning each. The less else runs, the better.")
    columns = []
    for job in (reading(out), comparing()):
        tuning = tuned(job, out, arguments.seconds, console)
        console.print(Text(f"  {tuning.said}"))
        columns.append(result(job, tuning, out))
    console.print(table(columns))
    where = out.relative_to(Path.cwd()) if out.is_relative_to(Path.cwd()) else out
    console.print(
        Text(f"The plans: {where}/reader.lap and {where}/sentences.lap; pictures: {where}/pictures.")
    )
    console.print(Text(f"Try one: .venv/bin/hotlap run {where}/reader.lap --input x={where}/line.npy"))


if __name__ == "__main__":
    main()

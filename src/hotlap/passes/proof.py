"""The proof that a changed model gives the answers of its source, by asking both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hotlap.bench import Target
from hotlap.errors import ModelError, TargetFailed
from hotlap.passes.draft import Draft
from hotlap.passes.graphs import replace_all
from hotlap.passes.tools import Scratch, run_tool
from hotlap.passes.unplaced import unplaced
from hotlap.passes.view import Face, face_of, view_target
from hotlap.verify import Reference, Verdict

__all__ = ["prove", "readable", "reference_file", "same_face", "single_rows_agree"]

Feed = dict[str, Any]
TIMEOUT = 600.0
"""Seconds that a side may take beyond what its answers take: loading gigabytes is part of it."""


def prove(
    source: Draft,
    draft: Draft,
    model: Path,
    feeds: Sequence[Feed],
    level: str,
    *,
    generated: bool,
    scores: Mapping[str, int] | None = None,
) -> Verdict:
    """Whether a file's answers agree with its source's.

    Args:
        source: what is right; as it was loaded.
        draft, model: the changed model, and the file that holds it, in a temporary folder.
        feeds: what both are asked, by the source's names.
        level: of `hotlap.verify.LEVELS`.
        generated: the feeds were made to fit; then "exact" judges.
        scores: source's output to the axis that ranks.

    Raises:
        TargetFailed: the source crashed, hung or refused a feed.
        ModelError: an output comes from a value that the source does not have.
    """
    scratch = Scratch()
    reference = reference_file(source, draft, scratch)
    if same_face(draft):
        candidate = Target.default(model, label="candidate")
    else:
        candidate = view_target(face_of(draft, model), scratch.path, "candidate")
    asked = {name: axis for name, axis in (scores or {}).items() if name in _wanted(draft)}
    temporary = (scratch.path, model.parent, *(kept.path for kept in source.kept))
    with (
        unplaced(*temporary),
        Reference(
            Target.default(reference, label="source"),
            feeds,
            generated=generated,
            scores=asked,
            timeout=TIMEOUT,
        ) as known,
    ):
        return known.judge(candidate, level)


def readable(source: Draft, draft: Draft) -> tuple[Draft, str]:
    """The source; or its graph alone, where its file format is too new for this runtime, and the draft's not.

    Lowering the IR version is for that, and changes nothing but the number.

    Returns:
        what to compare with, and a note where it is not the source as it lies.
    """
    version = draft.proto.ir_version
    if version >= source.proto.ir_version:
        return source, ""
    try:
        run_tool("load", source)
    except TargetFailed:
        proto, scratch = source.copy(), Scratch()
        proto.ir_version = version
        read = Draft.load(source.edited(proto).lay(scratch.path))
        said = f"this onnxruntime does not read the source, whose IR version is {source.proto.ir_version}"
        return replace(read, kept=(scratch,)), f"{said}; its graph was compared under IR version {version}"
    return source, ""


def same_face(draft: Draft) -> bool:
    """Whether the changed model is asked, and answers, by the names of its source."""
    inputs = all(name == source for name, source in draft.inputs.items())
    outputs = all(name == o.value and not o.labels for name, o in draft.outputs.items())
    return inputs and outputs and not draft.dropped_inputs


def _wanted(draft: Draft) -> list[str]:
    return list(dict.fromkeys(origin.value for origin in draft.outputs.values()))


def reference_file(source: Draft, draft: Draft, scratch: Scratch) -> Path:
    """The source, or where other outputs are wanted, its whole graph with those declared instead.

    Raises:
        ModelError: it has no such value.
    """
    wanted = _wanted(draft)
    assert source.path is not None
    if set(wanted) == set(source.output_names):
        return source.path
    known = {v.name: v for v in source.proto.graph.output}
    root = source.walk.root
    for name in wanted:
        if name not in known and name not in root.makers:
            raise ModelError(f'output "{name}" comes from no value of the source, so it cannot be compared')
    proto = source.copy()
    if any(name not in known for name in wanted):
        blank = type(proto.graph.output[0])
        known.update({name: blank(name=name) for name in wanted if name not in known})
    replace_all(proto.graph.output, [known[name] for name in wanted])
    folder = scratch.path / "reference"
    folder.mkdir(exist_ok=True)
    return source.edited(proto).lay(folder, "reference.onnx")


def single_rows_agree(before: Draft, after: Draft, feeds: Sequence[Feed], rows: Mapping[str, int]) -> Verdict:
    """Whether many rows at once give what single rows give.

    Args:
        before: the model that takes single rows.
        after: the one that takes many.
        feeds: of many rows, by the names of `after`.
        rows: output to the axis that holds the rows.

    Raises:
        TargetFailed: `after` does not run with many rows.
    """
    scratch = Scratch()
    for name in ("before", "after"):
        (scratch.path / name).mkdir()
    one = before.lay(scratch.path / "before")
    many = after.lay(scratch.path / "after")
    batched = [n for n in after.input_names if _many(feeds, n)]
    face = Face(model=str(one), single=batched, stacked=dict(rows))
    candidate = view_target(face, scratch.path, "single_rows")
    many_rows = Target.default(many, label="many rows")
    with (
        unplaced(scratch.path),
        Reference(many_rows, feeds, generated=True, timeout=TIMEOUT) as known,
    ):
        return known.judge(candidate, "exact")


def _many(feeds: Sequence[Feed], name: str) -> bool:
    sizes = {feed[name].shape[0] if feed[name].ndim else None for feed in feeds}
    return None not in sizes and len(sizes) > 1

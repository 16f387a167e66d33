"""What the inspecting process is asked, and what it answers: stage by stage, each through a file of its own.

A model may end the process in any stage. What the stages before it found lies on disk by then, and another
process goes on with the stages behind it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from hotlap.plan import Facts
from hotlap.tensors import TensorSpec

__all__ = ["EXECUTED", "NOW", "WEIGHTS", "Answer", "Request", "Stage", "read_answer", "write_answer"]

Stage = Literal["load", "probe", "executed", "ranges"]
NOW = "now"
"""The file that names the stage under way."""
EXECUTED, WEIGHTS = "executed.onnx", "executed.onnx.data"
"""The executed graph, and its weights where they are apart."""


class Request(msgspec.Struct, kw_only=True):
    """What to do (JSON).

    Attributes:
        model: absolute path of the .onnx file.
        providers: short names, first choice first.
        stages: in this order.
        folder: where answers go.
        feeds: a .npz file or a folder of them; "": inputs are made to fit the signature.
        limits: input name to how many ids there are, where that is known.
        outputs: as the file declares them.
        apart: the executed graph's weights go into a file beside it.
        outcome: the file to write the process's `Outcome` to.
    """

    model: str
    providers: list[str]
    stages: list[Stage]
    folder: str
    feeds: str = ""
    limits: dict[str, int] = {}
    outputs: list[TensorSpec] = []
    apart: bool = False
    outcome: str


class Answer(msgspec.Struct, kw_only=True):
    """What one stage found (msgpack).

    Attributes:
        error: why it found nothing, one line; "" where it did.
        placement: provider to its nodes' operators, of the stage "load".
        refusals: provider to the reason why it is not used, of "load".
        facts: of "probe".
        file: the executed graph, of "executed".
        ranges: value to lowest, highest and whether all of it was finite, of "ranges".
    """

    error: str = ""
    placement: dict[str, list[str]] = {}
    refusals: dict[str, str] = {}
    facts: Facts | None = None
    file: str = ""
    ranges: dict[str, tuple[float, float, bool]] = {}


def write_answer(folder: Path, stage: Stage, answer: Answer) -> None:
    (folder / f"{stage}.answer").write_bytes(msgspec.msgpack.encode(answer))


def read_answer(folder: Path, stage: Stage) -> Answer | None:
    """None: the stage came to no end."""
    try:
        return msgspec.msgpack.decode((folder / f"{stage}.answer").read_bytes(), type=Answer)
    except (OSError, msgspec.DecodeError):
        return None

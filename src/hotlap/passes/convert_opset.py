"""Convert to another version of ONNX's operators, by onnx's own converter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hotlap.errors import ModelError, UsageError
from hotlap.model.graph import load_graph, onnx
from hotlap.passes import face, shapes
from hotlap.passes.draft import Draft
from hotlap.passes.graphs import all_graphs, holds_sparse
from hotlap.passes.step import Aim, Passed, unchanged
from hotlap.passes.tools import rewritten

__all__ = ["ConvertOpset"]

_NO_STEP = re.compile(r"No Adapter (?:From|To) Version \$?(?P<version>\d+) for (?P<op>\w+)")


@dataclass(frozen=True)
class ConvertOpset:
    """Converts to another opset, the version of ONNX's own operators, up or down.

    Args:
        version: the opset to reach, e.g. 17 for ONNX Runtime 1.12 and newer.
    """

    version: int
    name: ClassVar[str] = "convert-opset"
    aim: ClassVar[Aim] = "mend"

    def __post_init__(self) -> None:
        newest = onnx().defs.onnx_opset_version()
        if not 1 <= self.version <= newest:
            raise UsageError(f"convert-opset: opsets are 1 to {newest} here, not {self.version}")

    def requires(self, draft: Draft) -> str:
        if draft.opset == 0:
            return "the model uses none of ONNX's own operators"
        if draft.proto.functions:
            return "the model defines functions, which the converter leaves as they are"
        if holds_sparse(draft.proto):
            return "the converter fails on sparse weights"
        inner = (g for g in all_graphs(draft.proto.graph) if g is not draft.proto.graph)
        if draft.opset != self.version and any(True for _ in inner):
            return "the converter does not look into the graphs inside of If, Loop and Scan"
        return ""

    def __call__(self, draft: Draft) -> Passed:
        """Raises TargetFailed (no conversion exists), ModelError (it changed the face)."""
        now = draft.opset
        if now == self.version:
            return unchanged(draft, f"its opset is {now} already")
        bare = draft.copy()
        aside = shapes.set_aside(bare, shapes.large)
        made = rewritten("convert", draft.edited(bare), {"version": self.version})
        proto = made.copy()
        shapes.put_back(proto, aside, frozenset(v.name for v in draft.proto.graph.input))
        _keep_imports(proto, draft)
        made = draft.edited(proto)
        return Passed(face.restored(draft, made, self.name), (f"opset {now} became {self.version}",))

    def ensures(self, before: Draft, after: Draft) -> str:
        if after.opset != self.version:
            return f"the opset is {after.opset}"
        return face.differences(before, after)


def _keep_imports(proto: Any, draft: Draft) -> None:
    """The imports of other domains come back, if the converter lost them."""
    have = {o.domain for o in proto.opset_import}
    for opset in draft.proto.opset_import:
        if opset.domain not in have and opset.domain != "ai.onnx":
            proto.opset_import.add(domain=opset.domain, version=opset.version)


def tool(source: Path, result: Path, version: int) -> None:
    """Runs in the tool's process."""
    try:
        converted = onnx().version_converter.convert_version(load_graph(source), version)
    except RuntimeError as error:  # its C++ half puts the place in its own source before what it says
        said = str(error).rpartition("failed: ")[2].strip()
        if missing := _NO_STEP.search(said):
            said = f"onnx's converter has no step for {missing['op']} of version {missing['version']}"
        raise ModelError(f"there is no way to opset {version}: {said}") from error
    if not converted.graph.output:
        raise ModelError("the converter left no output")
    result.write_bytes(converted.SerializeToString())

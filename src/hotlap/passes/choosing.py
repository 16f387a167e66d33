"""Passes by name, and by the code of the finding that they mend: what the command line takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotlap.errors import UsageError
from hotlap.passes.bind_axes import BindAxes
from hotlap.passes.convert_opset import ConvertOpset
from hotlap.passes.cut import Cut
from hotlap.passes.external_weights import ExternalWeights
from hotlap.passes.flush_denormals import FlushDenormals
from hotlap.passes.fold import Fold
from hotlap.passes.fuse import Fuse
from hotlap.passes.gelu import Gelu
from hotlap.passes.half import Half
from hotlap.passes.lower_ir import LowerIr
from hotlap.passes.mend_batch import MendBatch
from hotlap.passes.remove_zipmap import RemoveZipmap
from hotlap.passes.rename import Rename
from hotlap.passes.shrink import Shrink
from hotlap.passes.step import Pass
from hotlap.passes.transformer import Transformer
from hotlap.passes.weights_out_of_inputs import WeightsOutOfInputs
from hotlap.tensors import nearest

__all__ = ["FIXES", "PASSES", "SPELT", "fix_for", "named_pass"]

PASSES: dict[str, type[Any]] = {
    one.name: one
    for one in (
        WeightsOutOfInputs,
        BindAxes,
        MendBatch,
        Cut,
        RemoveZipmap,
        Fold,
        Shrink,
        Gelu,
        Fuse,
        Transformer,
        FlushDenormals,
        Half,
        Rename,
        ConvertOpset,
        LowerIr,
        ExternalWeights,
    )
}
"""Every pass by its name, in the order in which they are best applied."""

SPELT: dict[str, tuple[str, ...]] = {
    "bind-axes": ("bind-axes:batch=1,seq=64", "bind-axes:x[0]=1"),
    "cut": ("cut", "cut:scores,boxes", "cut:scores,inputs=drop"),
    "fuse": ("fuse", "fuse:extended"),
    "transformer": ("transformer", "transformer:vit"),
    "rename": ("rename:input_1=image,Identity=scores",),
    "convert-opset": ("convert-opset:17",),
    "lower-ir": ("lower-ir", "lower-ir:7"),
    "external-weights": ("external-weights", "external-weights:65536"),
}
"""How those are spelt that take an argument; `named_pass` reads it."""

FIXES: dict[str, str] = {
    "HL101": "mend-batch",
    "HL103": "mend-batch",
    "HL202": "flush-denormals",
    "HL301": "convert-opset:17",
    "HL302": "lower-ir",
    "HL401": "remove-zipmap",
    "HL404": "weights-out-of-inputs",
    "HL407": "cut",
    "HL408": "fold",
    "HL409": "shrink",
    "HL410": "fold",
    "HL413": "cut:inputs=drop",
    "HL515": "transformer",
    "HL516": "gelu",
    "HL517": "transformer",
}
"""Code of a finding to the pass that mends it, spelt as for `named_pass`. Opset 17 is read by ONNX Runtime
1.12, of July 2022, and all later ones; `hotlap inspect` names the one that fits what it judges for."""


def named_pass(text: str) -> Pass:
    """A pass as the command line spells it: ``fold``, ``fuse:extended``, ``bind-axes:batch=1,seq=64``.

    Raises:
        UsageError: no such pass, or an argument that makes no sense to it.
    """
    name, _, argument = text.partition(":")
    if name not in PASSES:
        raise UsageError(f'no pass "{name}"{nearest(name, PASSES)}; there are {", ".join(PASSES)}')
    take = _ARGUMENTS.get(name)
    if take is None:
        if argument:
            raise UsageError(f"{name}: it takes no argument, got {argument!r}")
        made: Pass = PASSES[name]()
        return made
    return take(argument)


def fix_for(text: str) -> Pass:
    """The pass that mends a finding: ``HL101``; ``HL301:15`` gives the pass another argument.

    Raises UsageError: none does, or the argument makes no sense to it.
    """
    code, _, argument = text.partition(":")
    spelt = FIXES.get(code.upper())
    if spelt is None:
        known = ", ".join(FIXES)
        raise UsageError(f'no pass mends "{code}"{nearest(code, FIXES)}; those that one mends: {known}')
    return named_pass(f"{spelt.partition(':')[0]}:{argument}" if argument else spelt)


def _pairs(name: str, argument: str) -> dict[str, str]:
    """``a=b,c=d``; commas and equals signs inside of names are taken as they are where they can be."""
    found = {}
    for part in filter(None, argument.split(",")):
        left, equals, right = part.rpartition("=")
        if not equals or not left or not right:
            raise UsageError(f"{name}: {part!r} is not of the form A=B")
        found[left] = right
    return found


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{name}: {text!r} is no whole number") from None


def _bind_axes(argument: str) -> Pass:
    pairs = _pairs(BindAxes.name, argument)
    return BindAxes({axis: _number(BindAxes.name, size) for axis, size in pairs.items()})


def _cut(argument: str) -> Pass:
    """``cut``, ``cut:y,z``, ``cut:inputs=drop``, ``cut:y,inputs=drop``."""
    parts = [part for part in argument.split(",") if part]
    settings = [part for part in parts if part.startswith("inputs=")]
    outputs = tuple(part for part in parts if part not in settings)
    return Cut(outputs or None, settings[-1].removeprefix("inputs=") if settings else "keep")


def _fuse(argument: str) -> Pass:
    level: Any = argument or "basic"
    return Fuse(level)


def _convert_opset(argument: str) -> Pass:
    return ConvertOpset(_number(ConvertOpset.name, argument))


def _lower_ir(argument: str) -> Pass:
    return LowerIr(_number(LowerIr.name, argument) if argument else None)


def _external_weights(argument: str) -> Pass:
    return ExternalWeights(_number(ExternalWeights.name, argument)) if argument else ExternalWeights()


_ARGUMENTS: dict[str, Callable[[str], Pass]] = {
    BindAxes.name: _bind_axes,
    Cut.name: _cut,
    Fuse.name: _fuse,
    Rename.name: lambda argument: Rename(_pairs(Rename.name, argument)),
    Transformer.name: lambda argument: Transformer(argument or None),
    ConvertOpset.name: _convert_opset,
    LowerIr.name: _lower_ir,
    ExternalWeights.name: _external_weights,
}

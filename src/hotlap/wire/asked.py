"""What a request asks for beside its tensors: outputs, and the parameters that change how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotlap.wire.header import InputParameters, OutputParameters, RequestOutput
from hotlap.wire.problems import Problems, Wrong, shown
from hotlap.wire.signature import Signature, listed
from hotlap.wire.values import Region, Wanted

__all__ = ["Asked", "asked", "region_of", "wanted_of"]

_MOST = 2**63 - 1
_MOST_SURPLUS = 64
"""Outputs beyond the model's that are still looked at, so as to say what is wrong with each."""
_SEQUENCE = ("sequence_id", "sequence_start", "sequence_end")


class Asked:
    """The request's own parameters.

    Attributes:
        binary: ``binary_data_output``.
        priority: 1 is the highest; 0: not given.
        timeout: seconds; None: not given.
        rest: the others.
    """

    __slots__ = ("binary", "priority", "rest", "timeout")

    def __init__(self) -> None:
        self.binary = False
        self.priority = 0
        self.timeout: float | None = None
        self.rest: Mapping[str, Any] = {}


NOTHING = Asked()


def asked(parameters: Mapping[str, Any] | None, problems: Problems) -> Asked:
    """Reads the request's parameters; what is wrong with them goes to `problems`."""
    if not parameters:
        return NOTHING
    found, rest = Asked(), dict(parameters)
    binary = rest.pop("binary_data_output", False)
    if isinstance(binary, bool):
        found.binary = binary
    else:
        problems.add("parameter binary_data_output: expected true or false")
    found.priority = _whole(rest.pop("priority", 0), "priority", problems)
    micros = _whole(rest.pop("timeout", 0), "timeout", problems)
    # The protocol's 0 means "as the server has it".
    found.timeout = micros / 1e6 if micros else None
    # Clients write 0, "" and false where there is no sequence.
    sequence = [rest.pop(name, None) for name in _SEQUENCE]
    if any(sequence):
        problems.add(
            "parameter sequence_id: no sequences here, each request stands alone; send the state as inputs"
        )
    found.rest = rest
    return found


def _whole(value: Any, name: str, problems: Problems) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST:
        return value
    if value is not None:
        problems.add(f"parameter {name}: expected a whole number of 0 or more")
    return 0


def region_of(given: InputParameters | OutputParameters) -> Region | None:
    """The piece of shared memory that the parameters name; None where they name none.

    Raises:
        Wrong: a part of it is missing.
    """
    if given.shared_memory_region is None:
        if given.shared_memory_byte_size is not None or given.shared_memory_offset is not None:
            raise Wrong("shared_memory_region is missing")
        return None
    if given.shared_memory_byte_size is None:
        raise Wrong("shared_memory_byte_size is missing")
    return Region(given.shared_memory_region, given.shared_memory_offset or 0, given.shared_memory_byte_size)


def wanted_of(
    outputs: list[RequestOutput] | None, signature: Signature, binary: bool, problems: Problems
) -> tuple[Wanted, ...]:
    """The outputs that are wanted, in the order asked for; () for all.

    Args:
        binary: as bytes where an output does not say itself.
    """
    if not outputs:
        return ()
    most = len(signature.outputs)
    if len(outputs) > most + _MOST_SURPLUS:
        problems.add(
            f"{len(outputs):,} outputs are asked for, the model gives {most}: {listed(signature.outputs)}"
        )
        return ()
    found: dict[str, Wanted] = {}
    for output in outputs:
        name = output.name
        try:
            if name in found:
                raise Wrong("asked for twice")
            found[name] = _wanted(name, output.parameters, signature, binary)
        except Wrong as wrong:
            problems.add(f"output {shown(name)}: {wrong}")
    return tuple(found.values())


def _wanted(name: str, given: OutputParameters | None, signature: Signature, binary: bool) -> Wanted:
    if given is not None and given.binary_data is not None:
        binary = given.binary_data
    plain = signature.wanted(name, binary)
    if plain is None:
        raise Wrong(signature.unknown_output(name))
    if given is None:
        return plain
    region = region_of(given)
    classes = given.classification or 0
    if region is None and not classes:
        return plain
    if region is not None and given.binary_data:
        raise Wrong("both binary_data and shared_memory_region are given, expected one")
    if region is not None and classes:
        raise Wrong("both classification and shared_memory_region are given, expected one")
    dtype = signature.outputs[name].spec.dtype
    if classes and not (dtype is not None and (dtype.is_float or dtype.is_integer)):
        raise Wrong(f"{signature.outputs[name].datatype} has no highest values to classify by")
    return Wanted(name, binary and region is None, classes, region)

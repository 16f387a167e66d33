"""What a request asks for, once it is read: `InferRequest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct, field

__all__ = ["InferRequest", "Region", "Wanted"]


@dataclass(frozen=True, slots=True)
class Region:
    """A piece of a shared-memory region.

    Attributes:
        name: of the region, as the client registered it.
        offset, nbytes: in bytes, from the start of the region as it was registered.
    """

    name: str
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """One output that is wanted, and how.

    Attributes:
        name: of the output.
        binary: as bytes behind the JSON header; else as numbers in it.
        classes: so many of the highest values as "value:index[:label]" texts; 0: the tensor itself.
        region: where it is to be written; None: into the reply.
    """

    name: str
    binary: bool = False
    classes: int = 0
    region: Region | None = None


class InferRequest(Struct):
    """One inference, read and checked against the model's signature.

    Attributes:
        id: as the client gave it, echoed; "".
        feed: input to its array: C-contiguous, native byte order, of the model's type and a shape that fits;
            numbers are views on the request's body (read-only), text is an object array of str.
        regions: input to the piece of shared memory that holds it; not in `feed` yet: the server reads it.
        shapes: input to shape, of those in `regions`.
        outputs: what is wanted, in the order asked for; empty: all, as JSON or as `binary` says.
        binary: the request's ``binary_data_output``.
        priority: 1 is the highest, 0: not given.
        timeout: seconds that it may wait and run; None: not given.
        parameters: the others, as the client gave them.
        nbytes: of the inputs, those in regions included: numbers as the arrays that they are, text as the
            request had it.
    """

    id: str = ""
    feed: dict[str, Any] = field(default_factory=dict)
    regions: Mapping[str, Region] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    outputs: tuple[Wanted, ...] = ()
    binary: bool = False
    priority: int = 0
    timeout: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    nbytes: int = 0

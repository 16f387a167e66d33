"""What a client may ask of the server before it is refused: `Limits`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hotlap.errors import UsageError

__all__ = ["Limits"]

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes in bytes, times in seconds. Times are kept to within about half a second.

    Attributes:
        connections: open at the same time, handshakes of TLS that are going on included.
        head: of the request line and the header lines together.
        headers: header lines.
        address: of the path and the query together.
        body: as it arrives, and again once it is unpacked.
        bodies: of all bodies that arrive or wait at the same time, as far as they have come, and unpacked.
            One that no longer fits, half-way too, is refused (429), and its connection closed.
        answers: of all answers that wait for their clients to read them; more are refused.
        elements: of all inputs of a request together.
        head_time: from the first byte of a head, or from the connection's start, to the head's last byte;
            for a handshake of TLS, and then again for the first head.
        body_time: for a body, besides what `least_rate` gives it.
        least_rate: bytes a second that a body must come at, over all of its time.
        idle_time: between two requests of a connection.
        write_time: without one byte of the answer being taken.
        linger_time: for a refused client to read why, before its connection is cut.
    """

    connections: int = 4096
    head: int = 16 * 1024
    headers: int = 100
    address: int = 4096
    body: int = 64 * _MIB
    bodies: int = 512 * _MIB
    answers: int = 512 * _MIB
    elements: int = 2**28
    head_time: float = 10.0
    body_time: float = 10.0
    least_rate: float = 64 * 1024.0
    idle_time: float = 75.0
    write_time: float = 30.0
    linger_time: float = 2.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise UsageError(f"limit {field.name} is {value}: it must be more than 0")

"""Kind of error to HTTP status: `STATUS`, the one table. What a server refuses by itself has its kinds here.

Refused
├── Malformed             not HTTP, or not in a way that everyone reads alike
├── Unauthorized          the bearer token is missing or wrong
├── Forbidden             a web page from elsewhere, where no token is asked for
├── Unknown               no such address, model, version or region
├── MethodNotAllowed      the address exists, for other methods
├── TooSlow               the request took too long to arrive
├── BodyTooLarge          more bytes than are taken
├── AddressTooLong
├── Unsupported           a coding or form of the body that the server does not read
├── ExpectationFailed     an Expect other than 100-continue
├── HeadTooLarge          more header lines or bytes than are taken
├── NotOffered            the server knows what is meant, and does not do it
├── TooManyConnections
└── VersionNotSupported   neither HTTP/1.1 nor HTTP/1.0
"""

from __future__ import annotations

from dataclasses import dataclass

from hotlap import errors

__all__ = [
    "NOT_NEAR",
    "STATUS",
    "AddressTooLong",
    "BodyTooLarge",
    "ExpectationFailed",
    "Forbidden",
    "HeadTooLarge",
    "Malformed",
    "MethodNotAllowed",
    "NotOffered",
    "Refused",
    "Row",
    "TooManyConnections",
    "TooSlow",
    "Unauthorized",
    "Unknown",
    "Unsupported",
    "VersionNotSupported",
    "row_of",
]


class Refused(errors.HotlapError):
    """A request that the server refuses by itself, before any model is asked."""


class Malformed(Refused):
    """Not HTTP, or not in a way that everyone on the path reads alike."""


class Unauthorized(Refused):
    """The bearer token is missing or wrong."""


class Forbidden(Refused):
    """A web page from elsewhere makes the request, and no token says that it may."""


NOT_NEAR = "shared memory is for who asks for this machine by address, or as localhost"
"""Said with Forbidden."""


class Unknown(Refused):
    """No such address, model, version or region."""


class MethodNotAllowed(Refused):
    """The address exists, for other methods."""

    def __init__(self, message: str, allowed: tuple[str, ...]) -> None:
        self.allowed = allowed
        super().__init__(message)


class TooSlow(Refused):
    """The request took too long to arrive."""


class BodyTooLarge(Refused):
    """The body has more bytes than are taken."""


class AddressTooLong(Refused):
    """The address has more bytes than are taken."""


class Unsupported(Refused):
    """The body comes in a coding or form that the server does not read."""


class ExpectationFailed(Refused):
    """The client expects something other than 100-continue."""


class HeadTooLarge(Refused):
    """The head has more lines or bytes than are taken."""


class NotOffered(Refused):
    """The server knows what is meant, and does not do it."""


class TooManyConnections(Refused):
    """As many connections are open as may be."""


class VersionNotSupported(Refused):
    """Neither HTTP/1.1 nor HTTP/1.0."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a client is told.

    Attributes:
        status: of HTTP.
        when: what happened, for people.
        retry: seconds after which to try again; None: trying again will not help.
    """

    status: int
    when: str
    retry: int | None = None


STATUS: dict[type[BaseException], Row] = {
    errors.InputError: Row(400, "the request does not fit the model: every problem of it, one line each"),
    Malformed: Row(400, "the request is no proper HTTP; the connection is closed"),
    Unauthorized: Row(401, "the bearer token is missing or wrong"),
    Forbidden: Row(403, "no token, and a web page of another origin; or shared memory asked for by a name"),
    Unknown: Row(404, "no such address, model, version or region"),
    MethodNotAllowed: Row(405, "the address exists, for other methods: see the header Allow"),
    TooSlow: Row(408, "the request took too long to arrive; the connection is closed"),
    errors.TooLarge: Row(413, "more elements, or more bytes once unpacked, than are taken"),
    BodyTooLarge: Row(413, "the body has more bytes than are taken"),
    AddressTooLong: Row(414, "the address has more bytes than are taken; the connection is closed"),
    Unsupported: Row(415, "a Content-Encoding other than gzip, deflate and identity"),
    ExpectationFailed: Row(417, "an Expect other than 100-continue"),
    errors.Overloaded: Row(
        429, "as much waits as may: requests, their bytes, or answers that are not read", retry=1
    ),
    HeadTooLarge: Row(431, "the head has more lines or bytes than are taken; the connection is closed"),
    errors.HotlapError: Row(500, "the model, or what runs it, failed"),
    NotOffered: Row(501, "the server knows what is meant, and does not do it"),
    errors.NotReady: Row(
        503, "the server or the model is being warmed, or the server is about to stop", retry=1
    ),
    TooManyConnections: Row(503, "as many connections are open as may be", retry=1),
    errors.DeadlineExceeded: Row(504, "the answer was not there in time"),
    VersionNotSupported: Row(505, "neither HTTP/1.1 nor HTTP/1.0; the connection is closed"),
}
"""The nearest base class counts. What is no HotlapError is a mistake of the server's own: 500, and the log
has the traceback."""

_UNEXPECTED = Row(500, "a mistake of the server's own: its log says more")


def row_of(error: BaseException) -> Row:
    """The row of that error."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), _UNEXPECTED)

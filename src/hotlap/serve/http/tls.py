"""TLS: `context`."""

from __future__ import annotations

import ssl
from pathlib import Path

from hotlap.errors import UsageError

__all__ = ["context"]


def context(certificate: Path, key: Path | None = None) -> ssl.SSLContext:
    """What a server needs to speak TLS 1.2 or 1.3, with Python's own choice of ciphers.

    Args:
        certificate: PEM: the server's, then those that lead to its authority.
        key: PEM, without a password; None: it is in the certificate's file.

    Raises:
        UsageError: a file cannot be read, is no PEM, or the two don't belong together.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    for path in (certificate, key):
        if path is not None and not path.is_file():
            raise UsageError(f"{path}: no such file; TLS needs a certificate and its key, in PEM")
    try:
        made.load_cert_chain(certificate, key, password=_no_password)
    except (ssl.SSLError, OSError) as error:
        where = certificate if key is None else f"{certificate} and {key}"
        raise UsageError(
            f"{where}: no certificate and key, in PEM without a password, that belong together"
        ) from error
    return made


def _no_password() -> str:
    """Without this OpenSSL asks on the terminal."""
    return ""

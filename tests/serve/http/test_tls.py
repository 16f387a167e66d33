from __future__ import annotations

import contextlib
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from hotlap.errors import UsageError
from hotlap.serve.http.tls import context
from tests.serve.http.wired import Client, get, infer, model, post, rows, serving

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    made = []
    for name in ("mine", "other"):
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2",
             "-keyout", key, "-out", certificate],
            check=True, capture_output=True,
        )  # fmt: skip
        made.append((certificate, key))
    return made[0]


def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))


@pytest.mark.parametrize("uvloop", [True, False])
def test_requests_go_through_tls(pem: tuple[Path, Path], uvloop: bool) -> None:
    if uvloop:
        pytest.importorskip("uvloop")
    with serving(model(), tls=context(*pem), uvloop=uvloop) as server:
        assert server.url.startswith("https://")
        with Client(server, context=trusting(pem[0])) as client:
            assert client.socket.version() in ("TLSv1.2", "TLSv1.3")
            for value in (1.0, 2.0):
                assert client.ask(post(infer(value))).y.tolist() == (rows(value) * 2).tolist()
            big = infer(*range(20_000))
            assert client.ask(post(big)).y[-1, 0] == 2 * 19_999
            assert client.ask(get("/x", "Connection: close")).status == 404
            assert client.ended()


def test_who_speaks_no_tls_is_cut(pem: tuple[Path, Path]) -> None:
    with serving(model(), tls=context(*pem)) as server:
        with Client(server.url) as client:
            client.send(get("/v2/health/live"))
            with contextlib.suppress(ConnectionResetError):
                assert b"HTTP/1.1 200" not in client.socket.recv(1000)
        with Client(server, context=trusting(pem[0])) as client:
            assert client.ask(get("/v2/health/live")).status == 200


def test_old_versions_are_not_spoken(pem: tuple[Path, Path]) -> None:
    made = context(*pem)
    assert made.minimum_version == ssl.TLSVersion.TLSv1_2


def test_files_that_do_not_fit_are_told(pem: tuple[Path, Path], tmp_path: Path) -> None:
    certificate, key = pem
    with pytest.raises(UsageError, match="no such file"):
        context(tmp_path / "none.crt", key)
    with pytest.raises(UsageError, match="that belong together"):
        context(certificate, certificate.with_name("other.key"))
    with pytest.raises(UsageError, match="that belong together"):
        context(certificate)
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    assert context(both)


def test_a_key_with_a_password_asks_nobody(pem: tuple[Path, Path], tmp_path: Path) -> None:
    locked = tmp_path / "locked.key"
    subprocess.run(
        ["openssl", "ec", "-in", pem[1], "-aes128", "-passout", "pass:secret", "-out", locked],
        check=True,
        capture_output=True,
    )
    with pytest.raises(UsageError, match="without a password"):
        context(pem[0], locked)

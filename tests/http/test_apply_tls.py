"""answerd apply --to https://…: nothing is sent, and no token, before the certificate of the service is verified."""

from __future__ import annotations

import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from answerd.cli import main
from answerd.store.sqlite import SqliteStore
from tests.support.service import Service, write_tree
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with")

TOKEN = "apply-over-tls-token-0123456789"


class Front(socketserver.ThreadingTCPServer):
    """The proxy in front of the admin API in a deployment: it ends TLS and forwards the bytes."""

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext, admin: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.context, self.admin = context, admin
        self.passed: list[bytes] = []


class Passing(socketserver.BaseRequestHandler):
    """One connection."""

    server: Front

    def handle(self) -> None:
        """Pass a request on, and its response back until the service closes."""
        try:
            client = self.server.context.wrap_socket(self.request, server_side=True)
        except OSError:  # the client does not trust the certificate
            return
        with client, socket.create_connection(self.server.admin, PATIENCE) as service:
            threading.Thread(target=self._pass_on, args=(client, service), daemon=True).start()
            for data in iter(lambda: service.recv(65_536), b""):
                client.sendall(data)

    def _pass_on(self, client: ssl.SSLSocket, service: socket.socket) -> None:
        try:
            for data in iter(lambda: client.recv(65_536), b""):
                self.server.passed.append(data)
                service.sendall(data)
        except OSError:
            pass  # the response is there, and the connection closed


class Deployment(NamedTuple):
    """A service behind TLS, a certificate that is its own authority, and a foreign one."""

    front: Front
    database: Path
    own: Path
    foreign: Path

    def url(self, host: str = "127.0.0.1") -> str:
        return f"https://{host}:{self.front.server_address[1]}"

    def stored(self) -> list[str]:
        return [stored.key.identifier for stored in SqliteStore(self.database).all()]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("tls")
    own, foreign = (made(place, name) for name in ("own", "foreign"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own, own.with_suffix(".key"))
    settings = {"SERVICE_DB_PATH": place / "a.db", "SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_TOKEN": TOKEN}
    with Service(SERVICE_STORE="sqlite", **settings) as service:
        assert service.admin
        with Front(context, service.admin) as front:
            serving = threading.Thread(target=front.serve_forever, kwargs={"poll_interval": 0.01})
            serving.start()
            try:
                yield Deployment(front, place / "a.db", own, foreign)
            finally:
                front.shutdown()
                serving.join()


def made(place: Path, name: str) -> Path:
    """A certificate for 127.0.0.1, signed by itself, with its key beside it."""
    certificate = place / f"{name}.crt"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", str(certificate.with_suffix(".key")), "-out", str(certificate),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SERVICE_ADMIN_TOKEN", TOKEN)
    write_tree(tmp_path / "repository", {"n1.toml": "x = 1\n"})
    return tmp_path / "repository"


def test_a_service_whose_certificate_is_not_trusted_gets_nothing(
    deployment: Deployment, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = {
        "signed by somebody else": ["--to", deployment.url(), "--ca", str(deployment.foreign)],
        "unknown to the system": ["--to", deployment.url()],
        "for another name": ["--to", deployment.url("localhost"), "--ca", str(deployment.own)],
    }
    for why, line in refused.items():
        assert main(["apply", "--yes", *line, str(directory)]) == 2, why
        assert "the certificate is not trusted" in capsys.readouterr().err, why
    assert deployment.front.passed == []
    assert deployment.stored() == []


def test_a_change_reaches_a_service_whose_certificate_is_trusted(
    deployment: Deployment, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["apply", "--yes", "--to", deployment.url(), "--ca", str(deployment.own), str(directory)]

    assert main(line) == 0
    assert capsys.readouterr().out == "applied: 1 new, 0 changed, 0 unchanged, 0 removed; 0 problems\n"
    assert deployment.stored() == ["n1"]
    assert f"Bearer {TOKEN}".encode() in b"".join(deployment.front.passed)
    assert main([*line[:-1], "--dry-run", line[-1]]) == 0


def test_a_file_that_holds_no_certificate_is_named(
    directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.pem").write_text("nothing\n")
    for path in (tmp_path / "empty.pem", tmp_path / "missing.pem"):
        assert main(["apply", "--yes", "--to", "https://127.0.0.1:1", "--ca", str(path), str(directory)]) == 2
        assert f"{path} cannot be used" in capsys.readouterr().err

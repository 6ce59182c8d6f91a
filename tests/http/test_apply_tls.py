"""answerd apply --to https://…: nothing is sent, and no token, before the certificate of the service is verified."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from answerd.cli import main
from tests.support.service import write_tree
from tests.support.waiting import PROGRAM_SECONDS

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with")

TOKEN = "apply-over-tls-token-0123456789"
APPLIED = {
    "status": "applied",
    **dict.fromkeys(("changed", "unchanged", "removed"), 0),
    "new": 1,
    "problems": [],
    "documents": {"new": [], "changed": [], "removed": []},
}


class Proxy(ThreadingHTTPServer):
    """The proxy in front of the admin API in a deployment, which ends TLS; it answers by itself."""

    def __init__(self, place: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.own, self.foreign = (made(place, name) for name in ("own", "foreign"))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.own, self.own.with_suffix(".key"))
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.received: list[tuple[str | None, Any]] = []

    def url(self, host: str = "127.0.0.1") -> str:
        return f"https://{host}:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Proxy

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.received.append((self.headers["Authorization"], body))
        answer = json.dumps(APPLIED).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("ETag", '"1-0"')
        self.end_headers()
        self.wfile.write(answer)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            pass  # the client does not trust the certificate

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


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
    timeout=PROGRAM_SECONDS)  # fmt: skip
    return certificate


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with Proxy(tmp_path) as front:
        serving = threading.Thread(target=front.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield front
        finally:
            front.shutdown()
            serving.join()


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SERVICE_ADMIN_TOKEN", TOKEN)
    write_tree(tmp_path / "repository", {"n1.toml": "x = 1\n"})
    return str(tmp_path / "repository")


def test_only_a_service_whose_certificate_is_trusted_gets_the_change_and_the_token(
    proxy: Proxy, directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = {
        "signed by somebody else": ["--to", proxy.url(), "--ca", str(proxy.foreign)],
        "unknown to the system": ["--to", proxy.url()],
        "for another name": ["--to", proxy.url("localhost"), "--ca", str(proxy.own)],
    }
    for why, line in refused.items():
        assert main(["apply", "--yes", *line, directory]) == 2, why
        assert "the certificate is not trusted" in capsys.readouterr().err, why
    assert proxy.received == []

    assert main(["apply", "--yes", "--to", proxy.url(), "--ca", str(proxy.own), directory]) == 0
    assert capsys.readouterr().out == "applied: 1 new, 0 changed, 0 unchanged, 0 removed; 0 problems\n"
    [(authorization, body)] = proxy.received
    assert authorization == f"Bearer {TOKEN}"
    assert body["put"] == [{"kind": "machine", "identifier": "n1", "format": "toml", "text": "x = 1\n"}]


def test_a_file_that_holds_no_certificate_is_named(
    directory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.pem").write_text("nothing\n")
    for path in (tmp_path / "empty.pem", tmp_path / "missing.pem"):
        assert main(["apply", "--yes", "--to", "https://127.0.0.1:1", "--ca", str(path), directory]) == 2
        assert f"{path} cannot be used" in capsys.readouterr().err

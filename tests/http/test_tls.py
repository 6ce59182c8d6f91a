"""TLS of the answer endpoint as the real program: what it serves, refuses to start with, pins and reloads."""

import json
import shutil
import signal
import socket
import ssl
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from answerd.server.certificate import load_certificate
from tests.support.processes import is_alive, kill
from tests.support.replies import REPLY_SECONDS, pieces
from tests.support.service import Service, run, write_tree
from tests.support.waiting import PROGRAM_SECONDS, wait_until

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with")

GET = b"GET /ipxe HTTP/1.1\r\nHost: s\r\n\r\n"
SCRIPT = b"#!ipxe\necho there\n"
TIMEOUT = 1  # second
PASSWORD = "pass:not-so-secret"


class Pair(NamedTuple):
    """A certificate and its key, as files."""

    certificate: Path
    key: Path

    @property
    def fingerprint(self) -> str:
        """As OpenSSL tells it."""
        said = openssl("x509", "-in", str(self.certificate), "-noout", "-fingerprint", "-sha256")
        return said.strip().rpartition("=")[2]

    def replace(self, other: "Pair") -> None:
        """Put another pair where this one is."""
        for mine, theirs in zip(self, other, strict=True):
            shutil.copy(theirs, mine)


def openssl(*arguments: str) -> str:
    return subprocess.run(
        ["openssl", *arguments], check=True, capture_output=True, text=True, timeout=PROGRAM_SECONDS
    ).stdout


def make_pair(directory: Path, name: str) -> Pair:
    pair = Pair(directory / f"{name}.crt", directory / f"{name}.key")
    # A curve rather than RSA: made in a moment.
    openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", f"/CN={name}", "-keyout", str(pair.key), "-out", str(pair.certificate),
    )  # fmt: skip
    return pair


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return make_pair(tmp_path, "first")


@pytest.fixture
def other(tmp_path: Path) -> Pair:
    return make_pair(tmp_path, "second")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    write_tree(tmp_path / "answers", {"default.ipxe": SCRIPT})
    return tmp_path / "answers"


def test_a_certificate_is_trusted_that_this_system_knows(
    pair: Pair, other: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = load_certificate(*map(str, pair))
    assert not certificate.is_trusted()
    monkeypatch.setenv("SSL_CERT_FILE", str(other.certificate))
    assert not certificate.is_trusted()
    monkeypatch.setenv("SSL_CERT_FILE", str(pair.certificate))
    assert certificate.is_trusted()


PROXMOX = """once = true
global.keyboard = "de"
global.country = "de"
global.fqdn = "a.example.org"
global.mailto = "a@example.org"
global.timezone = "UTC"
global.root-password-hashed = "$6$a$b"
network = {source = "from-dhcp"}
disk-setup = {filesystem = "ext4", disk-list = ["sda"]}
[post-installation-webhook]
url = "{{ report }}"
"""


def test_check_says_what_a_webhook_lacks(pair: Pair, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "SERVICE_ANSWERS_DIR": tmp_path / "answers",
        "SERVICE_STATE_PATH": tmp_path / "states",
        "SERVICE_TLS_CERT": pair.certificate,
        "SERVICE_TLS_KEY": pair.key,
        "SERVICE_URL": "https://127.0.0.1:8000",
    }
    write_tree(tmp_path / "answers", {"node1.toml": PROXMOX})
    checked = run("check", "--json", **settings)
    [problem] = json.loads(checked.stdout)["problems"]
    assert "post-installation-webhook.cert-fingerprint is missing" in problem
    assert problem.endswith("(node1.toml:11)")
    write_tree(tmp_path / "answers", {"node1.toml": f'{PROXMOX}cert-fingerprint = "{{{{ service.fingerprint }}}}"\n'})
    assert json.loads(run("check", "--json", **settings).stdout)["problems"] == []
    rendered = run("render", "node1", **settings)
    assert tomllib.loads(rendered.stdout.decode())["post-installation-webhook"]["cert-fingerprint"] == pair.fingerprint


def under_tls(answers: Path, pair: Pair, **settings: object) -> Service:
    return Service(
        SERVICE_ANSWERS_DIR=answers, SERVICE_TLS_CERT=pair.certificate, SERVICE_TLS_KEY=pair.key,
        **settings,
    )  # fmt: skip


def connected(service: Service) -> ssl.SSLSocket:
    assert service.address
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection(service.address, REPLY_SECONDS))


def ask(service: Service, request: bytes = GET) -> bytes:
    """The response to one request."""
    with connected(service) as client:
        client.sendall(request)
        return b"".join(pieces(client))


def presented(service: Service) -> str:
    """The fingerprint of the certificate that a client is shown."""
    with connected(service) as client:
        certificate = client.getpeercert(binary_form=True)
    assert certificate
    return hashed(certificate)


def hashed(der: bytes) -> str:
    done = subprocess.run(
        ["openssl", "x509", "-inform", "der", "-noout", "-fingerprint", "-sha256"],
        input=der, capture_output=True, check=True,
    timeout=PROGRAM_SECONDS)  # fmt: skip
    return done.stdout.decode().strip().rpartition("=")[2]


def test_a_good_pair_serves_and_the_log_says_what_an_installer_pins(answers: Path, pair: Pair) -> None:
    with under_tls(answers, pair) as service:
        assert ask(service).endswith(b"\r\n\r\n" + SCRIPT)
        line = service.wait_for_log("fingerprint")
        assert line.endswith(f" {pair.fingerprint}")
        assert presented(service) == pair.fingerprint


def test_a_chain_in_the_certificates_file_is_served_by_its_first(answers: Path, pair: Pair, other: Pair) -> None:
    both = pair.certificate.read_text() + other.certificate.read_text()
    pair.certificate.write_text("Bag Attributes: what OpenSSL writes in front\n" + both)
    with under_tls(answers, pair) as service:
        assert service.wait_for_log("fingerprint").endswith(pair.fingerprint)
        assert presented(service) == pair.fingerprint


BAD_PAIRS = {
    "the key of another certificate": "does not belong to the certificate",
    "an encrypted key": "the key is encrypted",
    "no such certificate": "first.crt cannot be read: No such file",
    "no such key": "first.key cannot be read: No such file",
    "a certificate that is none": "first.crt holds no PEM certificate",
    "a key that is none": "first.key holds no PEM private key",
    "a directory": "first.crt cannot be read: Is a directory",
    "a certificate of garbage": "first.crt",
    "a key of garbage": "first.key",
}


def spoil(pair: Pair, other: Pair, how: str) -> None:
    """Make a pair a bad one."""
    if how == "the key of another certificate":
        shutil.copy(other.key, pair.key)
    elif how == "an encrypted key":
        plain = pair.key.rename(pair.key.with_suffix(".plain"))
        openssl("pkey", "-in", str(plain), "-aes128", "-passout", PASSWORD, "-out", str(pair.key))
    elif how == "a directory":
        pair.certificate.unlink()
        pair.certificate.mkdir()
    elif how.endswith("garbage"):
        file, label = (pair.key, "PRIVATE KEY") if "key" in how else (pair.certificate, "CERTIFICATE")
        file.write_text(f"-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n")
    else:
        file = pair.key if "key" in how else pair.certificate
        file.unlink() if how.startswith("no such") else file.write_text("nothing of the kind\n")


@pytest.mark.parametrize("how", BAD_PAIRS)
def test_a_bad_pair_is_a_startup_error_in_one_line(answers: Path, pair: Pair, other: Pair, how: str) -> None:
    spoil(pair, other, how)
    ended = run(
        "serve", SERVICE_ANSWERS_DIR=answers, SERVICE_LISTEN_ADDR="127.0.0.1:0",
        SERVICE_TLS_CERT=pair.certificate, SERVICE_TLS_KEY=pair.key,
    )  # fmt: skip
    assert ended.returncode == 1
    said = ended.stderr.decode().splitlines()
    assert len(said) == 1
    assert BAD_PAIRS[how] in said[0]
    assert "PEM lib" not in said[0] or "not a PEM pair" in said[0]


@pytest.mark.parametrize("given", ["SERVICE_TLS_CERT", "SERVICE_TLS_KEY"])
def test_half_a_pair_is_a_startup_error(answers: Path, pair: Pair, given: str) -> None:
    settings: dict[str, Any] = {given: pair.certificate}
    ended = run("serve", SERVICE_ANSWERS_DIR=answers, SERVICE_LISTEN_ADDR="127.0.0.1:0", **settings)
    assert ended.returncode == 1
    assert {"SERVICE_TLS_CERT", "SERVICE_TLS_KEY"} <= set(ended.stderr.decode().replace(":", " ").split())


@pytest.mark.parametrize("count", [1, 2])
def test_sighup_takes_a_new_certificate_and_says_its_fingerprint(
    answers: Path, pair: Pair, other: Pair, count: int
) -> None:
    with under_tls(answers, pair, SERVICE_WORKERS=count) as service:
        assert presented(service) == pair.fingerprint
        pair.replace(other)
        service.process.send_signal(signal.SIGHUP)
        service.wait_for_log(f"fingerprint .*{other.fingerprint}")
        wait_until(lambda: {presented(service) for _ in range(12)} == {other.fingerprint})
        assert len([line for line in service.log if "fingerprint" in line]) == 2
        for worker in service.children():
            kill(worker)
            wait_until(lambda: not is_alive(worker))  # noqa: B023 - it takes no request any more
        assert {presented(service) for _ in range(12)} == {other.fingerprint}


@pytest.mark.parametrize("how", ["the key of another certificate", "no such key", "a certificate of garbage"])
def test_sighup_with_a_bad_pair_keeps_the_old_one(answers: Path, pair: Pair, other: Pair, how: str) -> None:
    with under_tls(answers, pair) as service:
        before = pair.fingerprint
        spoil(pair, other, how)
        service.process.send_signal(signal.SIGHUP)
        warned = service.wait_for_log("warning: SERVICE_TLS")
        assert "the old certificate stays in use" in warned
        service.wait_for_log("reloading")
        assert presented(service) == before


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00\x01"], ids=["silent", "half a ClientHello"])
def test_a_handshake_that_never_ends_is_cut_at_the_deadline(answers: Path, pair: Pair, said: bytes) -> None:
    with under_tls(answers, pair, SERVICE_TIMEOUT_SECS=TIMEOUT) as service:
        assert service.address
        began = time.monotonic()
        with socket.create_connection(service.address, REPLY_SECONDS) as client:
            client.sendall(said)
            assert client.recv(1) == b""
            assert time.monotonic() - began > TIMEOUT - 0.2


NOT_TLS = {"plain HTTP": GET, "a bare line end": b"\n", "garbage": bytes(range(256)), "SSL 2": b"\x80\x2e\x01\x00\x02"}


def test_what_is_no_tls_ends_its_own_connection_only(answers: Path, pair: Pair) -> None:
    with under_tls(answers, pair) as service:
        assert service.address
        for data in NOT_TLS.values():
            with socket.create_connection(service.address, REPLY_SECONDS) as client:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                try:
                    assert b"HTTP/1.1 200" not in b"".join(pieces(client))
                except ConnectionResetError:
                    pass
        assert ask(service).endswith(SCRIPT)
        service.wait_for_log("TLS failed")
        assert not [line for line in service.log if "Traceback" in line or "connection failed" in line]
        assert service.stop() == 0


def test_old_versions_of_tls_are_refused(answers: Path, pair: Pair) -> None:
    with under_tls(answers, pair) as service:
        assert service.address
        # At its usual level of security openssl would not even offer TLS 1.1.
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{service.address[1]}",
             "-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"],
            input=GET, capture_output=True, check=False,
        timeout=PROGRAM_SECONDS)  # fmt: skip
        assert SCRIPT not in done.stdout
        assert b"alert protocol version" in done.stderr


def test_draining_finishes_a_request_under_tls(answers: Path, pair: Pair) -> None:
    with under_tls(answers, pair) as service, connected(service) as client:
        client.sendall(GET[:-2])
        service.process.send_signal(signal.SIGTERM)
        service.wait_for_log("stopping")
        client.sendall(GET[-2:])
        assert b"".join(pieces(client)).endswith(SCRIPT)
        assert service.stop() == 0

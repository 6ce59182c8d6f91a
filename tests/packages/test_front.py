"""The samples for proxies, run in front of the real service: what is asked, who asked, and who may administrate.

Run by scripts/test-packages; a proxy that is not installed is skipped. Rules: docs/in-front.md.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.packages import CHECKOUT
from tests.support.ports import free_port
from tests.support.service import Service
from tests.support.waiting import BUILD_SECONDS, again_for

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
MAC = "52:54:00:12:34:56"
TOKEN = "token-of-these-tests"
UP_SECONDS = 20.0
MIMIC = "203.0.113.99"
"""What a client writes into X-Forwarded-For to look like another one."""


COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", (CHECKOUT / "docs/in-front.md").read_text("utf-8"), re.M | re.S)
    for line in block.splitlines()
]
"""The commands of the page: an authority of operators, the certificate of one, and a request with it."""


def openssl(*arguments: str, cwd: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True, timeout=BUILD_SECONDS)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server's certificate, an authority of operators, and a certificate that it signed."""
    where = tmp_path_factory.mktemp("tls")
    new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-addext", "subjectAltName=DNS:localhost"]
    openssl(*new, "-subj", "/CN=localhost", "-keyout", "answers.key", "-out", "answers.crt", cwd=where)
    making = [command for command in COMMANDS if command.startswith("openssl ")]
    assert len(making) == 3
    for command in making:
        subprocess.run(["sh", "-ec", command], cwd=where, check=True, capture_output=True, timeout=BUILD_SECONDS)
    (where / "answers.pem").write_text((where / "answers.crt").read_text() + (where / "answers.key").read_text())
    return where


@dataclass(frozen=True)
class Ports:
    """Where a proxy listens."""

    plain: int
    tls: int
    admin: int


@dataclass(frozen=True)
class Proxy:
    """How a proxy's sample is made to fit a test, judged and run. ``{config}`` is its file."""

    sample: str
    program: str
    judge: list[str]
    run: list[str]
    around: Callable[[str, Path], str] = lambda text, scratch: text

    def adapted(self, ports: Ports, service: Service, tls: Path, scratch: Path) -> str:
        """The sample with the test's ports, addresses and certificates."""
        assert service.address
        assert service.admin
        text = (CHECKOUT / "etc" / self.sample).read_text("utf-8")
        text = re.sub(r"^\s*listen \[::\].*\n|^\s*server node2 .*\n", "", text, flags=re.MULTILINE)
        text = re.sub(r"/etc/\w+/tls/", f"{tls}/", text)
        text = re.sub(r"(?:127\.0\.0\.1|192\.0\.2\.11):8000", f"127.0.0.1:{service.address[1]}", text)
        text = re.sub(r"(?:127\.0\.0\.1|192\.0\.2\.11):8001", f"127.0.0.1:{service.admin[1]}", text)
        for port, mine in ((80, ports.plain), (443, ports.tls), (8443, ports.admin)):
            text = re.sub(
                rf"^(\s*(?:listen|bind) (?:\S*:)?|https?://:){port}(?=[\s;{{])", rf"\g<1>{mine}", text, flags=re.M
            )
        return self.around(text, scratch)


def nginx_main(text: str, scratch: Path) -> str:
    """The sample within what Debian's main file has around it, without anything below /var."""
    temporary = "".join(
        f"{kind}_temp_path {scratch}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    head = f"daemon off; pid {scratch}/pid; error_log stderr; worker_processes 1;"
    return f"{head}\nevents {{}}\nhttp {{ access_log off; {temporary}\n{text}\n}}\n"


PROXIES = {
    "nginx": Proxy("nginx.conf", "nginx", ["-t", "-c", "{config}"], ["-c", "{config}"], nginx_main),
    "haproxy": Proxy("haproxy.cfg", "haproxy", ["-c", "-f", "{config}"], ["-db", "-f", "{config}"]),
    "caddy": Proxy(
        "Caddyfile",
        "caddy",
        ["validate", "--adapter", "caddyfile", "--config", "{config}"],
        ["run", "--adapter", "caddyfile", "--config", "{config}"],
    ),
}


@dataclass(frozen=True)
class Front:
    """A proxy that runs in front of a service."""

    ports: Ports
    service: Service
    tls: Path

    def ask(self, port: int, path: str, cert: bool = False, **headers: str) -> tuple[int, str]:
        """Status and body of a GET through the proxy."""
        context = ssl.create_default_context(cafile=str(self.tls / "answers.crt"))
        context.check_hostname = False
        if cert:
            context.load_cert_chain(self.tls / "op.crt", self.tls / "op.key")
        connection: http.client.HTTPConnection
        if port == self.ports.plain:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        else:
            connection = http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()


@pytest.fixture(scope="module", params=sorted(PROXIES))
def front(request: pytest.FixtureRequest, tls: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """The service with a proxy in front of it, one proxy after another."""
    proxy = PROXIES[request.param]
    program = shutil.which(proxy.program, path=SYSTEM_PATH)
    if program is None:
        pytest.skip(f"{proxy.program} is not installed")
    scratch = tmp_path_factory.mktemp(request.param)
    database = {"SERVICE_STORE": "sqlite", "SERVICE_DB_PATH": scratch / "answers.db"}
    admin = {"SERVICE_ADMIN_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_TOKEN": TOKEN}
    with Service(**database, **admin, SERVICE_TRUSTED_PROXIES="127.0.0.1/32") as service:
        text = b"{{ peer }} {{ path }}\n"
        stored = service.ask_admin(
            "PUT", "/machines/52-54-00-12-34-56?format=cfg", text, Authorization=f"Bearer {TOKEN}"
        )
        assert stored.status == 200, stored.text
        ports = Ports(free_port(), free_port(), free_port())
        config = scratch / proxy.sample
        config.write_text(proxy.adapted(ports, service, tls, scratch))
        words = {"config": str(config), "scratch": str(scratch)}
        environ = {"PATH": SYSTEM_PATH, "HOME": str(scratch), "XDG_DATA_HOME": str(scratch)}
        subprocess.run(
            [program, *[word.format(**words) for word in proxy.judge]], env=environ, check=True, timeout=BUILD_SECONDS
        )
        running = subprocess.Popen([program, *[word.format(**words) for word in proxy.run]], env=environ)
        try:
            wait_for(ports.plain, running)
            yield Front(ports, service, tls)
        finally:
            running.terminate()
            running.wait(20)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until somebody listens on a port. Fails when the process ends before."""
    for _ in again_for(UP_SECONDS):
        assert process.poll() is None, "the proxy has ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)  # nothing tells when another program listens
    raise AssertionError("the proxy does not listen")


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
def test_an_answer_comes_through_with_its_path_and_its_machine(front: Front, secure: bool) -> None:
    port = front.ports.tls if secure else front.ports.plain
    status, body = front.ask(port, f"/cfg//a/x%2Fy?mac={MAC}", False, **{"X-Forwarded-For": MIMIC})
    assert status == 200
    peer, path = body.split()
    assert (peer, path) == ("127.0.0.1", "cfg//a/x/y")


def test_an_error_of_the_service_comes_through_with_its_reason(front: Front) -> None:
    status, body = front.ask(front.ports.tls, "/cfg?mac=00:00:5e:00:53:01")
    assert status == 404
    assert "no document claims mac=00:00:5e:00:53:01" in body


def test_the_admin_api_wants_a_certificate_and_the_token(front: Front) -> None:
    bearer: Mapping[str, str] = {"Authorization": f"Bearer {TOKEN}"}
    status, body = front.ask(front.ports.admin, "/machines", cert=True, **bearer)
    assert (status, json.loads(body)) == (200, {"machine": ["52-54-00-12-34-56"]})
    assert front.ask(front.ports.admin, "/machines", cert=True)[0] == 401
    try:
        status, _ = front.ask(front.ports.admin, "/machines", cert=False, **bearer)
    except (ssl.SSLError, ConnectionError):
        return  # refused while the connection was made
    assert status == 400, "nginx says so in HTTP"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_request_of_the_page_is_answered(front: Front) -> None:
    (command,) = [command for command in COMMANDS if command.startswith("curl ")]
    there = command.replace("answers.example.org:8443", f"localhost:{front.ports.admin}")
    assert there != command
    done = subprocess.run(
        ["sh", "-c", there.replace("curl ", "curl --silent --fail --noproxy '*' --ipv4 --cacert answers.crt ", 1)],
        cwd=front.tls,
        env={"PATH": os.environ["PATH"], "TOKEN": TOKEN},
        capture_output=True,
        check=False,
        timeout=BUILD_SECONDS,
    )
    assert (done.returncode, json.loads(done.stdout or "{}")) == (0, {"machine": ["52-54-00-12-34-56"]}), done.stderr

"""A lab to look at: the documents of `examples/lab`, a few more, and a service with a console over them.

The browser tests and the pictures of docs/console.md use it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from answerd.console.protection import COOKIE
from tests.support.replies import Reply, exchange
from tests.support.service import Service, run, write_tree
from tests.support.waiting import wait_until

CHECKOUT = Path(__file__).parents[2]
EXAMPLE = CHECKOUT / "examples" / "lab"
TOKEN = "0123456789abcdef"

RACK = """\
members = ["aabbccddee01", "aabbccddee02", "db-primary"]
[global]
keyboard = "de"
root-password = "swordfish1"
"""

LOG = (
    b"sda: 32 GB, removable\nsdb: no medium\nTraceback (most recent call last):\n  storage: no disk larger than 32 GB\n"
)
"""What comes with the report of a failure."""

NODES = tuple(f"node-{number:02}" for number in range(1, 51))

ONCE = (
    "".join(f"# answer: member {name}\n" for name in NODES)
    + """\
# answer: once
# answer: template on
text
%post
curl -fsS {{ report }}/installed
%end
"""
)
"""A kickstart that its machines get until they report that they are done."""

LONG_NAME = "a-machine-that-somebody-named-in-full.rack-17.building-4.lab.example.com"

DOCUMENTS: Mapping[str, str] = {
    f"{LONG_NAME}.toml": '[global]\nfqdn = "long.example.com"\n',
    "groups/rack-a.toml": RACK,
    "groups/rack-b.ks": "# answer: member db-primary\nlang en_US\n",
    "groups/nodes.ks": ONCE,
    "aabbccddee01.toml": 'extends = "rack-a"\n[global]\nfqdn = "pve-31.example.com"\n',
}

VISITOR = "00:00:5e:00:53:ee"
"""A machine that nothing claims."""

PAGES: Mapping[str, str] = {
    "now": "/console/",
    "machines": "/console/machines",
    "grid": "/console/machines?view=grid&by=group",
    "none found": "/console/machines?q=nothing-like-it",
    "machine": "/console/machine?id=web-001",
    "failed": "/console/machine?id=node-34",
    "unknown": f"/console/machine?id={VISITOR}",
    "adopt": f"/console/adopt?id={VISITOR}",
    "adopt many": "/console/adopt",
    "machines that failed": "/console/machines?q=state:failed+state:silent+since:1h&column=rack",
    "long name": f"/console/machine?id={LONG_NAME}",
    "unclaimed": "/console/machine?id=nobody",
    "documents": "/console/documents",
    "document": "/console/document?kind=group&name=ubuntu&format=yaml",
    "new": "/console/document/new",
    "inventory": "/console/inventory?name=default",
    "row": "/console/inventory?name=default&edit=web-001",
    "history": "/console/history",
    "access": "/console/access",
    "try": "/console/try?path=/ubuntu&query=id%3Dweb-001",
    "check": "/console/check",
    "settings": "/console/settings",
}
"""Every page of the lab, by what it shows."""


class Lab:
    """A running service with a console. A context manager."""

    def __init__(self, home: Path, store: str = "sqlite", documents: Mapping[str, str] = DOCUMENTS, **settings: object):
        answers, secrets = home / "answers", home / "secrets"
        shutil.copytree(EXAMPLE / "answers", answers)
        shutil.copytree(EXAMPLE / "secrets", secrets, copy_function=_privately)
        write_tree(answers, documents)
        (home / "captures").mkdir()
        given: dict[str, Any] = {
            "SERVICE_STORE": store,
            "SERVICE_ANSWERS_DIR": answers,
            "SERVICE_DB_PATH": home / "answers.db",
            "SERVICE_SECRETS_DIR": secrets,
            "SERVICE_CAPTURE_DIR": home / "captures",
        }
        if store == "files":
            given["SERVICE_STATE_PATH"] = home / "states.db"
        if store == "sqlite":
            done = run("import", str(answers), **given)
            assert done.returncode == 0, done.stderr.decode()
        own = {"SERVICE_CONSOLE_ADDR": "127.0.0.1:0", "SERVICE_ADMIN_TOKEN": TOKEN, "SERVICE_TIMEOUT_SECS": 20}
        self.settings: dict[str, Any] = {**given, **own, **settings}
        self.start()

    def start(self) -> None:
        """Start the service, anew where it was stopped."""
        self.service = Service(**self.settings)
        line = self.service.wait_for_log(r"console listening on ")
        self.url = f"http://{line.rpartition(' ')[2]}"
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        self.console = host, int(port)

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.service.__exit__(kind, error, trace)

    def install(self, name: str) -> str:
        """Ask as an installer does; return the path of its reports."""
        answer = self.service.get(f"/ks?id={name}")
        found = re.search(r"http://[^/]+(/report/[^/\s]+)", answer.text)
        assert found, answer
        return found[1]

    def page(self, session: str, path: str) -> Reply:
        """Ask for a page without a browser."""
        head = [f"GET {path} HTTP/1.1", f"Host: {self.url.removeprefix('http://')}", f"Cookie: {COOKIE}={session}"]
        return exchange(self.console, "\r\n".join([*head, "", ""]).encode())

    def session(self, token: str = TOKEN) -> str:
        """Log in without a browser; return the session's identifier, nothing where the token is wrong."""
        body = urlencode({"token": token})
        head = [
            "POST /console/login HTTP/1.1",
            f"Host: {self.url.removeprefix('http://')}",
            f"Origin: {self.url}",
            f"Content-Length: {len(body)}",
        ]
        reply = exchange(self.console, "\r\n".join([*head, "", body]).encode())
        return reply.headers.get("set-cookie", "").partition(";")[0].partition("=")[2]


def populate(lab: Lab) -> None:
    """Have some machines install, some fail, and one ask that nothing claims."""
    reports = {name: lab.install(name) for name in NODES[:42]}
    for path in list(reports.values())[:31]:
        lab.service.get(f"{path}/installed")
    lab.service.post(f"{reports[NODES[33]]}/failed?message=no%20disk%20larger%20than%2032%20GB", LOG)
    for number, name in enumerate(NODES[34:40]):
        lab.service.get(f"{reports[name]}/progress?message=packages&percent={20 + 11 * number}")
    for number in range(1, 9):
        lab.service.get(f"/ubuntu/user-data?id=web-00{number}")
    lab.service.get("/proxmox?serial=LAB0131")
    lab.service.get(f"/ks?mac={VISITOR}&serial=SN-4711")
    session = lab.session()
    wait_until(lambda: lab.page(session, f"/console/adopt?id={VISITOR}").status == 200)  # written behind the request


def _privately(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    Path(target).chmod(0o600)

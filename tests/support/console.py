"""The console without a browser: a service with it, and a client that keeps its cookie and sends forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

from tests.support.replies import Reply, exchange
from tests.support.service import Service
from tests.support.waiting import wait_until

TOKEN = "0123456789abcdef"

SHOWN = ("/console/form?", "/console/inventory/proposal?", "/console/access?")
"""The beginnings of the addresses at which a form that was sent has its page. Other forms lead back to lists."""


class Browser:
    """A client that keeps its cookie, and sends what a browser does with a form."""

    def __init__(self, service: Service, console: tuple[str, int]) -> None:
        self.service, self.console, self.cookie, self.csrf = service, console, "", ""

    @property
    def origin(self) -> str:
        return f"http://{self.console[0]}:{self.console[1]}"

    def send(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Reply:
        given = {"Host": self.origin.removeprefix("http://")} | ({"Cookie": self.cookie} if self.cookie else {})
        lines = [
            f"{name}: {value}"
            for name, value in (given | dict(headers or {}) | {"Content-Length": str(len(body))}).items()
        ]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        reply = exchange(self.console, head.encode("latin-1") + body)
        where = reply.headers.get("location", "")
        is_shown = "set-cookie" not in reply.headers and where.startswith(SHOWN)
        return self.get(where) if is_shown else reply

    def get(self, path: str, **headers: str) -> Reply:
        reply = self.send("GET", path, headers=headers)
        if found := re.search(r'name="csrf" value="([^"]+)"', reply.text):
            self.csrf = found[1]
        return reply

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Reply:
        given = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"} | headers
        return self.send("POST", path, urlencode(fields).encode(), given)

    def log_in(self, token: str = TOKEN) -> Reply:
        reply = self.post("/console/login", {"token": token})
        self.cookie = reply.headers.get("set-cookie", "").partition(";")[0]
        if self.cookie:
            self.get("/console/")
        return reply

    def change(self, **fields: str) -> Reply:
        """Send the form of the editor."""
        return compared(lambda: self.post("/console/document", {"csrf": self.csrf, **fields}))


def compared(ask: Callable[[], Reply]) -> Reply:
    """The response once answers have been compared: on a busy machine a preview shows how far it is. What is found is
    kept, so the same form is sent again."""
    replies: list[Reply] = []

    def is_whole() -> bool:
        replies.append(ask())
        return '<progress class="long"' not in replies[-1].text

    wait_until(is_whole)
    return replies[-1]


def started(home: Path, store: str, **settings: object) -> Running:
    return Running(
        SERVICE_STORE=store,
        SERVICE_ANSWERS_DIR=home / "answers",
        SERVICE_DB_PATH=home / "answers.db",
        SERVICE_CONSOLE_ADDR="127.0.0.1:0",
        **{"SERVICE_ADMIN_TOKEN": TOKEN, **settings},
    )


class Running:
    """A service with a console, for the time of a block."""

    def __init__(self, **settings: object) -> None:
        self.service = Service(**settings)

    def __enter__(self) -> Browser:
        line = self.service.wait_for_log(r"console listening on ")
        host, _, port = line.rpartition(" ")[2].rpartition(":")
        return Browser(self.service, (host, int(port)))

    def __exit__(self, *error: object) -> None:
        self.service.__exit__(*error)


def etag_of(reply: Reply) -> str:
    found = re.search(r'name="etag" value="([^"]*)"', reply.text)
    assert found
    return unescape(found[1])


def text_in(reply: Reply) -> str:
    """Return what the editor of a page holds."""
    found = re.search(r'<textarea id="text"[^>]*>\n(.*?)</textarea>', reply.text, re.DOTALL)
    assert found
    return unescape(found[1])


def changes_in(reply: Reply) -> str:
    """Return the history on the page of a document; the difference of a change is there where ``change`` names it."""
    return reply.text.partition('id="past"')[2]


def revisions_in(reply: Reply) -> list[str]:
    """Return the revisions that a page leads back to, the latest first."""
    return re.findall(r'href="/console/document/earlier\?revision=(\d+)', reply.text)

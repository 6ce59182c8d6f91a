"""`GET /events` over a real socket: events of every worker are sent, and no client delays another."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from answerd.installs.tokens import token_fingerprint
from tests.support.replies import pieces
from tests.support.service import Service
from tests.support.waiting import PATIENCE, again_for, wait_until

TOKEN = "events-admin-token-0123456789"
IPXE = "#!ipxe\n# answer: once\nset password swordfish\nkernel vmlinuz {{ report }}\n"


class Stream:
    """A client of the event stream."""

    def __init__(self, service: Service, *, token: str = TOKEN, last: str = "", small: bool = False) -> None:
        assert service.admin
        self.socket = socket.socket()
        if small:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self.socket.connect(service.admin)
        self.socket.settimeout(PATIENCE)
        header = f"GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        self.socket.sendall((header + (f"Last-Event-ID: {last}\r\n" if last else "") + "\r\n").encode())
        self._rest = b""
        self.head = "".join(iter(lambda: next(self._lines()) + "\r\n", "\r\n"))
        self.last = last
        if " 200 " in self.head.partition("\r\n")[0]:  # events come from its first comment on, not from its head on
            next(line for line in self._lines() if line.startswith(":"))

    def _lines(self) -> Iterator[str]:
        """Line by line, without the ends, until the stream ends. Raise `TimeoutError`, whatever else has come, where
        they are not all there in time: heartbeats begin the socket's own timeout anew."""
        coming = pieces(self.socket)
        while True:
            while b"\n" not in self._rest:
                piece = next(coming, b"")
                if not piece:
                    return
                self._rest += piece
            line, _, self._rest = self._rest.partition(b"\n")
            yield line.decode().removesuffix("\r")

    def events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and data of each event that comes in time."""
        name = ""
        for line in self._lines():
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "id":
                self.last = value
            elif field == "data":
                yield name, json.loads(value)


@contextmanager
def listening(service: Service, *, last: str = "", small: bool = False) -> Iterator[Stream]:
    stream = Stream(service, last=last, small=small)
    try:
        yield stream
    finally:
        stream.socket.close()


class Told:
    """The events of a stream; each is found once, in whatever order they are sought."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._kept: list[tuple[str, dict[str, Any]]] = []

    def find(self, name: str, **wanted: object) -> dict[str, Any]:
        """The first event of this name that has these values; waits for it."""
        for at, (kind, data) in enumerate(self._kept):
            if kind == name and wanted.items() <= data.items():
                return self._kept.pop(at)[1]
        for kind, data in self._stream.events():  # each has its own time to come
            if kind == name and wanted.items() <= data.items():
                return data
            self._kept.append((kind, data))
        raise AssertionError(f"the stream ended before {name} {wanted}")


def report_in(text: str) -> str:
    found = re.search(r"http://[^/]+(/report/[\w.-]+)", text)
    assert found is not None, text
    return found[1]


def test_what_happens_in_any_worker_is_told_until_the_service_ends(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    service = serving(
        SERVICE_STORE="sqlite",
        SERVICE_DB_PATH=tmp_path / "answers.db",
        SERVICE_ADMIN_ADDR="127.0.0.1:0",
        SERVICE_ADMIN_TOKEN=TOKEN,
        SERVICE_WORKERS=2,
        SERVICE_LOG="problems",
        SERVICE_ADMIN_TIMEOUT_SECS=3,
    )
    token: dict[str, Any] = {"Authorization": f"Bearer {TOKEN}"}
    assert service.ask_admin("GET", "/events").status == 401
    assert service.ask_admin("HEAD", "/events", **token).status == 200
    assert service.ask_admin("PUT", "/machines/node1?format=ipxe", IPXE.encode(), **token).status == 200
    with listening(service) as stream, listening(service, small=True) as silent:
        assert stream.head.startswith("HTTP/1.1 200 OK\r\n")
        assert "Content-Type: text/event-stream\r\n" in stream.head
        assert "Content-Length" not in stream.head
        told = Told(stream)
        url = report_in(service.get("/ipxe/node1").text)
        asked = told.find("request", target="/ipxe/node1")
        assert (asked["status"], asked["method"], asked["bytes"] > 0) == (200, "GET", True)
        assert told.find("state", machine="node1")["state"] == "installing"
        assert service.post(f"{url}/failed?message=with+swordfish", b"").status == 200
        assert told.find("state", machine="node1")["message"] == "with (secret)"
        assert service.post(f"{url}/installed", b"").status == 200
        assert told.find("state", machine="node1")["state"] == "installed"
        assert service.post(f"{url}/nowhere", b"").status == 404
        shown = f"/report/{token_fingerprint(url.split('/')[2])}"
        for rest in ("/failed?...", "/installed", "/nowhere"):
            assert told.find("request", method="POST")["target"] == shown + rest
        wait_until(lambda: any(f" {shown}/nowhere " in line for line in service.log))

        # Each is told of some worker; with 40 of them both have answered.
        for number in range(40):
            service.get(f"/ks/none{number}")
        assert told.find("request", target="/ks/none39")["status"] == 404

        before = stream.last
        for _ in again_for(3.5):  # longer than SERVICE_ADMIN_TIMEOUT_SECS
            service.get("/ks/none")
            assert told.find("request", target="/ks/none")["method"] == "GET"
        service.get("/ks/later")
        assert told.find("request", target="/ks/later")["method"] == "GET"
        with listening(service, last=before) as again:
            assert Told(again).find("request", target="/ks/none")["status"] == 404
        assert not any(url.split("/")[2] in line for line in service.log)
        assert service.stop() == 0
        list(stream.events())  # which end
        assert b"event: request" in b"".join(pieces(silent.socket))

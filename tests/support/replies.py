"""Requests as bytes, and the one response to each."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

REPLY_SECONDS = 90.0


@dataclass(frozen=True)
class Reply:
    """One response. Everything is empty where none came.

    ``reset``: the connection ended with a reset. ``outcome``: what the application left for the log, where it was asked
    in process.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    raw: bytes = field(default=b"", repr=False)
    reset: bool = False
    outcome: str = ""

    @classmethod
    def parse(cls, raw: bytes, reset: bool = False) -> Reply:
        """Return the response that these bytes are. Names of headers become lower case."""
        if not raw:
            return cls(reset=reset)
        head, separator, body = raw.partition(b"\r\n\r\n")
        assert separator, f"no response: {raw!r}"
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): text.strip() for name, _, text in (line.partition(":") for line in lines[1:])}
        return cls(int(lines[0].split(" ")[1]), headers, body, raw, reset)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def problems(self) -> list[str]:
        """The problems that an answer of the admin API lists."""
        problems: list[str] = self.json["problems"]
        return problems

    @property
    def error(self) -> str:
        """The sentence of an error of the admin API."""
        error: str = self.json["error"]
        return error


def request_bytes(method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """Return a request with a Host, the headers, and a length where there is a body. ``_`` in a name means ``-``."""
    lines = [f"{method} {target} HTTP/1.1", "Host: answers.example"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body or method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def post(path: str, body: bytes, *headers: str, length: int | None = None) -> bytes:
    """Return a POST with these header lines. ``length``: what it claims, where that is not the body's."""
    lines = [f"POST {path} HTTP/1.1", "Host: s", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(path: str, *chunks: bytes) -> bytes:
    """Return a POST whose body comes in these chunks."""
    head = f"POST {path} HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


def pieces(connection: socket.socket, seconds: float = REPLY_SECONDS) -> Iterator[bytes]:
    """What comes over a connection until it ends, as it comes. Raise `TimeoutError` after so many seconds in all: a
    stream that never ends, or a byte now and then, defeats the socket's own timeout, which begins anew with each."""
    until = time.monotonic() + seconds
    while True:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"the connection did not end within {seconds:g} seconds")
        connection.settimeout(left)
        piece = connection.recv(65_536)
        if not piece:
            return
        yield piece


def receive(client: socket.socket) -> Reply:
    """Read until the connection ends, however it ends."""
    raw = b""
    try:
        for piece in pieces(client):
            raw += piece
    except ConnectionResetError:
        return Reply.parse(raw, reset=True)
    return Reply.parse(raw)


def exchange(address: tuple[str, int], request: bytes, patience: float = REPLY_SECONDS) -> Reply:
    """Send a request and return its whole response. Raise `OSError` where the connection fails."""
    with socket.create_connection(address, timeout=patience) as connection:
        connection.sendall(request)
        received = b"".join(pieces(connection, patience))
    assert received, "the connection was closed without a response"
    reply = Reply.parse(received)
    length = 0 if request.startswith(b"HEAD ") else int(reply.headers["content-length"])
    assert len(reply.body) == length
    return reply

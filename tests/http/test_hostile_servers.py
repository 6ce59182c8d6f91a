"""What answers a command may be anything but an admin API: exit status 1 and one sentence, never a success.

Each server of the table speaks with each command that asks another service. Rules: docs/gitops.md#the-service.
"""

from __future__ import annotations

import json
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from answerd.cli import main
from answerd.commands import adopt, apply, installs, remote

TOKEN = "hostile-servers-token-0123456789"
KEY = {"kind": "machine", "identifier": "n1", "format": "toml"}
APPLIED: dict[str, Any] = {
    "status": "applied",
    "new": 1,
    "changed": 0,
    "unchanged": 0,
    "removed": 0,
    "problems": [],
    "problems_before": [],
    "documents": {"new": [KEY], "changed": [], "removed": []},
}
ANSWERS = {"compared": 0, "differences": [], "changes": [], "notes": [], "last_words": []}
TRIED = APPLIED | {"status": "dry run", "answers": ANSWERS}
RECORD: dict[str, Any] = {
    "machine": "n1",
    "state": "new",
    "silent": False,
    "since": None,
    "heard": None,
    "last_step": None,
    "starts": 0,
    "group": None,
    "message": None,
    "percent": None,
    "identities": [],
}
UNKNOWN = {"machine": "m", "first": "", "last": "", "asked": 1, "facts": {}, "answered_by_default": False}
COUNTS = {"machines": 1, "silent": 0, "states": {"new": 1}}
TALLIES = {"summary": [{"value": "g", **COUNTS}], "total": COUNTS}
ADOPTED: dict[str, Any] = {
    "status": "adopted",
    "rows": [{"machine": "m", "first": "", "name": "cn1", "place": "inventory.csv", "row": {"id": "cn1"}}],
    "left_out": [],
    "problems": [],
}
CALLERS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "apply": (["apply", "--yes", "--prune", "--to"], APPLIED),
    "apply --json": (["apply", "--yes", "--json", "--to"], APPLIED),
    "apply --dry-run": (["apply", "--dry-run", "--to"], TRIED),
    "apply --dry-run --json": (["apply", "--dry-run", "--json", "--to"], TRIED),
    "adopt": (["adopt", "--from"], ADOPTED),
    "adopt --json": (["adopt", "--json", "--from"], ADOPTED),
    "adopt --dry-run": (["adopt", "--dry-run", "--from"], ADOPTED | {"status": "dry run", "notes": []}),
    "installs": (["installs", "--from"], {"installs": [RECORD]}),
    "installs --json": (["installs", "--json", "--from"], {"installs": [RECORD]}),
    "installs --unknown": (["installs", "--unknown", "--from"], {"unknown": [UNKNOWN]}),
    "installs --summary": (["installs", "--summary", "group", "--from"], TALLIES),
    "installs --unknown --json": (["installs", "--unknown", "--json", "--from"], {"unknown": [UNKNOWN]}),
}
"""Each command that asks another service, and what a service answers it."""

Talk = Callable[[socket.socket, bytes], None]
"""What a server does once a request is there. The bytes are what a service would answer, as JSON."""


def reply(status: str = "200 OK", body: bytes | None = None, *headers: str, length: int | None = None) -> Talk:
    def talk(client: socket.socket, right: bytes) -> None:
        sent = right if body is None else body
        lines = [f"HTTP/1.1 {status}", *(headers or ("Content-Type: application/json",))]
        lines.append(f"Content-Length: {len(sent) if length is None else length}")
        client.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + sent)

    return talk


def raw(*pieces: bytes) -> Talk:
    def talk(client: socket.socket, _right: bytes) -> None:
        for piece in pieces:
            client.sendall(piece)

    return talk


def chunks(*pieces: bytes) -> Talk:
    return raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *pieces)


def for_ever(begin: bytes, again: bytes) -> Talk:
    def talk(client: socket.socket, _right: bytes) -> None:
        client.sendall(begin)
        while True:  # until the client goes
            client.sendall(again)

    return talk


def drip(begin: bytes) -> Talk:
    def talk(client: socket.socket, _right: bytes) -> None:
        client.sendall(begin)
        client.settimeout(0.05)
        while True:
            try:
                if not client.recv(1):
                    return
            except TimeoutError:
                client.sendall(b" ")

    return talk


def silence(client: socket.socket, _right: bytes) -> None:
    while client.recv(65_536):
        pass


def half(client: socket.socket, right: bytes) -> None:
    reply("200 OK", right[: len(right) // 2], length=len(right))(client, right)


def a_field_less(client: socket.socket, right: bytes) -> None:
    content = json.loads(right)
    del content[next(reversed(content))]
    reply("200 OK", json.dumps(content).encode())(client, right)


def with_every_number(text: bytes) -> Talk:
    """The right answer with another value in place of each number."""

    def talk(client: socket.socket, right: bytes) -> None:
        def changed(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: changed(one) for key, one in value.items()}
            if isinstance(value, list):
                return [changed(one) for one in value]
            return "@" if type(value) is int else value

        reply("200 OK", json.dumps(changed(json.loads(right))).encode().replace(b'"@"', text))(client, right)

    return talk


HTML = b"<!doctype html><title>Log in</title><form action=/login><input name=password></form>"
SERVERS: dict[str, Talk] = {
    "redirect with JSON": reply("302 Found", b'{"login": "https://sso.example/"}', "Location: https://sso.example/"),
    "redirect with the right JSON": reply("302 Found", None, "Location: /elsewhere"),
    "permanent redirect": reply("308 Permanent Redirect", None, "Location: /elsewhere"),
    "not modified": raw(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "login page with 200": reply("200 OK", HTML, "Content-Type: text/html"),
    "login page with 403": reply("403 Forbidden", HTML, "Content-Type: text/html"),
    "502 of a proxy": reply("502 Bad Gateway", HTML, "Content-Type: text/html"),
    "right JSON with 201": reply("201 Created"),
    "right JSON with 202": reply("202 Accepted"),
    "right JSON with 404": reply("404 Not Found"),
    "right JSON with 500": reply("500 Internal Server Error"),
    "right JSON with 999": reply("999 Odd"),
    "204": raw(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "101": raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "103 and the end": raw(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
    "100 for ever": for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "empty body": reply("200 OK", b""),
    "empty object": reply("200 OK", b"{}"),
    "array": reply("200 OK", b"[]"),
    "null": reply("200 OK", b"null"),
    "number": reply("200 OK", b"7"),
    "object that wraps": reply("200 OK", b'{"data": {"installs": [], "unknown": [], "status": "applied"}}'),
    "wrong types": reply(
        "200 OK", b'{"installs": 7, "unknown": {"a": 1}, "status": ["applied"], "new": "1", "problems": "none"}'
    ),
    "arrays of numbers": reply("200 OK", b'{"installs": [5], "unknown": [null], "status": "applied", "problems": [1]}'),
    "a field less": a_field_less,
    "numbers that are texts": with_every_number(b'"1"'),
    "numbers that are true": with_every_number(b"true"),
    "NaN": with_every_number(b"NaN"),
    "numbers of 100,000 digits": with_every_number(b"9" * 100_000),
    "error that is no text": reply("409 Conflict", b'{"error": {"code": 1}}'),
    "error without a reason": reply("409 Conflict", b"{}"),
    "arrays 100,000 deep": reply("200 OK", b"[" * 100_000 + b"]" * 100_000),
    "objects 100,000 deep": reply("200 OK", b'{"installs":' * 100_000 + b"1" + b"}" * 100_000),
    "deep error": reply("409 Conflict", b'{"error":' * 100_000 + b"1" + b"}" * 100_000),
    "invalid UTF-8": reply("200 OK", b'{"installs": [], "unknown": [], "status": "\xff\xfe"}'),
    "UTF-16": reply("200 OK", '{"installs": []}'.encode("utf-16")),
    "half of a surrogate": reply("200 OK", b'{"installs": [], "unknown": [], "status": "\\ud800"}'),
    "two values": reply("200 OK", b"{} {}"),
    "gzip": reply(
        "200 OK", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00C\xbf\xa6\xa3", "Content-Encoding: gzip"
    ),
    "half of the right answer": half,
    "length that is too short": reply("200 OK", None, length=9),
    "length that is too long": reply("200 OK", None, length=10_000_000_000),
    "length below zero": reply("200 OK", b"", length=-5),
    "half a header": raw(b"HTTP/1.1 200 OK\r\nContent-Ty"),
    "header that has no end": for_ever(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
    "header of 100 KB": raw(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n{}"),
    "status line of 100 KB": raw(b"HTTP/1.1 200 " + b"a" * 100_000 + b"\r\n\r\n{}"),
    "status that is no number": raw(b"HTTP/1.1 OK OK\r\n\r\n{}"),
    "no status": raw(b"HTTP/1.1\r\n\r\n{}"),
    "HTTP/0.9": raw(b"{}\n"),
    "SSH": raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "bytes of TLS": raw(b"\x15\x03\x01\x00\x02\x02\x46" * 20),
    "zeros": raw(b"\0" * 200 + b"\r\n\r\n"),
    "escape sequences": raw(b"HTTP/1.1 200 \x1b[2J\r\n\r\n\x1b]0;x\x07"),
    "chunks that are cut off": chunks(b"20\r\n{"),
    "chunk of a size that is no number": chunks(b"zz\r\n{}\r\n0\r\n\r\n"),
    "chunk of a size below zero": chunks(b"-5\r\n{}\r\n0\r\n\r\n"),
    "chunk of 2^64 bytes": chunks(b"ffffffffffffffff\r\n{}"),
    "chunks without the last": chunks(b"2\r\n{}\r\n"),
    "nothing": raw(),
    "silence": silence,
    "one byte after the other": drip(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
    "a header byte after the other": drip(b"HTTP/1.1 200 OK\r\nX: "),
    "body without an end": for_ever(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65_536),
    "chunks without an end": for_ever(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65_536 + b"\r\n"
    ),
    "list without an end": lambda client, _: reply(
        "200 OK", json.dumps({"installs": [RECORD] * 10_000, "unknown": 1}).encode()
    )(client, b""),
}
SLOW = ("100 for ever", "silence", "one byte after the other", "a header byte after the other")


OF_NUMBERS = ("numbers that are texts", "numbers that are true", "NaN", "numbers of 100,000 digits")
"""Servers that answer with other numbers."""


@contextmanager
def served(talk: Talk, right: dict[str, Any]) -> Iterator[tuple[int, list[bytes]]]:
    """A server on a free port, and the requests that it gets."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                with client:
                    try:
                        asked.append(request_of(client))
                        talk(client, json.dumps(right).encode())
                        client.shutdown(socket.SHUT_WR)
                        silence(client, b"")
                    except OSError:
                        continue

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listening.getsockname()[1], asked
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(60)
    assert not thread.is_alive(), "the command has left the connection open"


def request_of(client: socket.socket) -> bytes:
    """Read a whole request."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l")), 0
    )
    while len(body) < length:
        body += client.recv(65_536)
    return head + b"\r\n\r\n" + body


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SERVICE_ADMIN_TOKEN", TOKEN)
    (tmp_path / "n1.toml").write_text("x = 1\n")
    return str(tmp_path)


def line_of(caller: str, url: str, directory: str) -> list[str]:
    return [*CALLERS[caller][0], url, *([directory] if caller.startswith("apply") else [])]


@pytest.mark.parametrize("caller", CALLERS)
def test_what_a_service_answers_is_a_success(caller: str, directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    with served(reply(), CALLERS[caller][1]) as (port, asked):
        assert main(line_of(caller, f"http://127.0.0.1:{port}", directory)) == 0
    assert f"Authorization: Bearer {TOKEN}".encode() in asked[0]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "caller"),
    [
        (name, caller)
        for name in SERVERS
        for caller in CALLERS
        if name not in OF_NUMBERS or not caller.startswith("adopt")  # its answer has none
    ],
)
def test_anything_else_is_an_error_with_one_sentence(
    name: str, caller: str, directory: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = CALLERS[caller][1]
    seconds = 1.0 if name in SLOW else 60.0
    monkeypatch.setattr(apply, "CHANGE_SECONDS", seconds)
    monkeypatch.setattr(adopt, "ADOPT_SECONDS", seconds)
    monkeypatch.setattr(installs, "SITE_SECONDS", seconds)
    monkeypatch.setattr(remote, "MOST_BYTES", 20_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with served(SERVERS[name], right) as (port, _):
        status = main(line_of(caller, f"http://127.0.0.1:{port}", directory))
        output = capsys.readouterr()
        assert status == 1, output
        (sentence,) = output.err.splitlines()
        assert f"127.0.0.1:{port} " in sentence
        assert sentence.isprintable()
        assert len(sentence) < 300
        assert "Traceback" not in output.err
        assert TOKEN not in output.err
        if caller.startswith(("apply", "adopt")):
            assert output.out == ""
        elif "--json" in caller:
            assert json.loads(output.out) == {"unknown" if "--unknown" in caller else "installs": []}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # kilobytes


@pytest.mark.parametrize("caller", CALLERS)
def test_certificates_for_http_are_refused_before_anything_is_sent(
    caller: str, directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(reply(), CALLERS[caller][1]) as (port, asked):
        line = line_of(caller, f"http://127.0.0.1:{port}", directory)
        assert main([line[0], "--ca", str(Path(directory, "n1.toml")), *line[1:]]) == 2
    assert asked == []
    assert "--ca is for https" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("peer", "own", "is_warned"),
    [
        ("127.0.0.1", "127.0.0.1", False),
        ("127.9.9.9", "127.0.0.1", False),
        ("::1", "::1", False),
        ("192.0.2.7", "192.0.2.7", False),
        ("192.0.2.8", "192.0.2.7", True),
        ("10.0.0.2", "10.0.0.1", True),
        ("fe80::2%eth0", "fe80::1%eth0", True),
        ("2001:db8::2", "2001:db8::1", True),
    ],
)
def test_a_token_that_leaves_this_machine_in_clear_is_warned_of(
    peer: str,
    own: str,
    is_warned: bool,
    directory: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Elsewhere(socket.socket):
        def getpeername(self) -> Any:
            return peer, 80

        def getsockname(self) -> Any:
            return own, 40_000

    def connect(address: tuple[str, int], *_: object, **__: object) -> socket.socket:
        made = Elsewhere()
        made.connect(address)
        return made

    with served(reply(), CALLERS["apply"][1]) as (port, _), monkeypatch.context() as patched:
        patched.setattr("socket.create_connection", connect)
        assert main(line_of("apply", f"http://127.0.0.1:{port}", directory)) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == is_warned
    assert all(TOKEN not in line and "use https" in line for line in warnings)


WRONG_URLS = [
    "http://a..b/",
    f"http://{'a' * 300}",
    "http://127.0.0.1:99999",
    "http://127.0.0.1:0",
    "http://h/ü",
    "http://h/a b",
    "http://h/\udcff",
    "http://\udcff/",
    "http:///x",
    "http://[::1",
    "http://u:p@h",
    "http://h?x",
    "http://h#x",
    "h:1",
]


@pytest.mark.parametrize("url", WRONG_URLS, ids=ascii)
@pytest.mark.parametrize("caller", ["apply", "adopt", "installs"])
def test_a_wrong_url_is_an_error_with_one_sentence(
    caller: str, url: str, directory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line_of(caller, url, directory)) in (1, 2)
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("answerd: ")


@pytest.mark.parametrize("token", ["a\x01b-0123456789abcdef", "t\x7f0123456789abcdef"])
def test_a_token_that_no_header_can_hold_is_an_error_that_does_not_show_it(
    token: str, directory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SERVICE_ADMIN_TOKEN", token)
    assert main(line_of("apply", "http://127.0.0.1:1", directory)) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "SERVICE_ADMIN_TOKEN holds a control character" in sentence
    assert "0123456789abcdef" not in sentence


@pytest.mark.parametrize("extra", [["--note", "two\nlines\x1b[2J"], ["--note", "\udcff"], ["--note", "für 日本"]])
def test_a_note_of_any_characters_is_sent_as_one_line(extra: list[str], directory: str) -> None:
    with served(reply(), APPLIED) as (port, asked):
        line = line_of("apply", f"http://127.0.0.1:{port}", directory)
        assert main([line[0], *extra, *line[1:]]) == 0
    (head,) = [request.partition(b"\r\n\r\n")[0] for request in asked]
    (note,) = [field for field in head.split(b"\r\n") if field.lower().startswith(b"x-change-note:")]
    assert note.partition(b": ")[2].decode().isprintable()


def test_a_name_of_any_characters_is_asked_for(directory: str) -> None:
    with served(reply(), {"installs": [RECORD]}) as (port, asked):
        assert main(["installs", "--group", "\udcff ü", "--from", f"http://127.0.0.1:{port}"]) == 0
    assert asked[0].startswith(b"GET /installs?group=%FF+%C3%BC HTTP/1.1")

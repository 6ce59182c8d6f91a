"""The admin API of a service, as a command asks it: one request, one answer, the token from the settings.

What answers may be anything: a proxy that wants a login, a captive portal, another program, half of an answer. So an
answer counts only with the status that the API documents and the shape of its content, and it has a bound in size and
in time. No redirect is followed.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Timer
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode, urlsplit

import orjson

from answerd.commands import FAILED, WRONG_USAGE, CommandError
from answerd.commands.terminal import say
from answerd.server.statuses import FIRST_PROBLEM, OK
from answerd.short_texts import cut, printable

TOKEN = "SERVICE_ADMIN_TOKEN"  # noqa: S105 - a name
"""The setting that holds the token, and with ``_FILE`` at its end that names a file of it."""

MOST_BYTES: Final = 134_217_728
"""Bytes of an answer. The largest are dry runs of a change of 64 MB, which show each new answer once."""

_REDIRECTS: Final = range(300, 400)

_REFUSED_TOKEN: Final = (401, 403)
"""The token is refused. It will be again: whoever repeats what ends with the other status must not repeat this."""

_UNREACHABLE: Final = (404, 405, 408, 429, 500, 502, 503, 504)
"""Errors of the API that say nothing about the change: the service cannot be asked like this, or not now."""

_AT_ONCE: Final = 1_048_576
_LONGEST_REASON: Final = 1_000
_ETAG: Final = re.compile(r'(?:W/)?"[!#-~]*"|')
_PATH: Final = re.compile(r"[!-~]*")
Shape: TypeAlias = "type | str | tuple[Shape, ...] | list[Shape] | dict[str, Shape] | None"
"""What a value of JSON has to be: of a type (``int`` is no ``bool``), this text, null, one of several, an array of
values of one shape, or an object that has at least these fields."""


def fits(value: object, shape: Shape) -> bool:
    """Return whether a value of JSON has a shape."""
    if shape is None or isinstance(shape, str):
        return value == shape
    if isinstance(shape, tuple):
        return any(fits(value, one) for one in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(one, shape[0]) for one in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(name in value and fits(value[name], shape[name]) for name in shape)
    return type(value) is shape


@dataclass(frozen=True, slots=True)
class ApiReply:
    """A response with JSON: what was asked for, or an error with its sentence."""

    status: int
    content: dict[str, Any]
    etag: str

    @property
    def is_error(self) -> bool:
        return self.status != OK

    @property
    def error(self) -> str:
        """The sentence of an error, cut where it is long."""
        return cut(str(self.content["error"]), _LONGEST_REASON)


class _Unusable(Exception):
    """What answered is no admin API. The message says why."""


@dataclass(frozen=True, slots=True)
class AdminApi:
    """The admin API of a service: its address, and the token for it."""

    scheme: str
    host: str
    port: int | None
    path: str
    token: str
    context: ssl.SSLContext | None
    timeout: float

    @classmethod
    def of(cls, url: str, ca: str | None, option: str, timeout: float) -> AdminApi:
        """Return the API at a URL, which ``option`` gave. ``ca`` is a file of certificates that are trusted.
        ``timeout``: seconds for each request, its answer included. Raises `CommandError`."""
        try:
            parts = urlsplit(url)
            port, host = parts.port, parts.hostname
            is_url = parts.scheme in ("http", "https") and host and not parts.query and not parts.fragment
        except ValueError:
            is_url = False
        if not is_url or not host or not _PATH.fullmatch(parts.path):
            raise CommandError(f"{option} is no URL, such as https://answers.example:8001", WRONG_USAGE)
        if parts.username is not None:
            raise CommandError(f"{option} must not hold a password: the token is in {TOKEN}", WRONG_USAGE)
        context = None
        if parts.scheme == "https":
            try:
                context = ssl.create_default_context(cafile=ca)
            except OSError as error:
                raise CommandError(f"{ca} cannot be used: {error.strerror or error}", WRONG_USAGE) from None
        elif ca is not None:
            raise CommandError(f"--ca is for https: {option} begins with http, which proves nobody", WRONG_USAGE)
        token = _token(os.environ, option)
        return cls(parts.scheme, host, port, parts.path.rstrip("/"), token, context, timeout)

    @property
    def site(self) -> str:
        """The host, with its port where the URL has one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host

    @property
    def _where(self) -> str:
        return f"{self.scheme}://{self.site}"

    def get(self, path: str, shape: Shape, query: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Ask for something, which has this shape; a parameter of the query may have several values. Raises
        `CommandError` where there is no such thing, the service cannot be asked, or what answers is no admin API."""
        encoded = urlencode(query, doseq=True, errors="surrogateescape")
        reply = self._ask("GET", f"{path}?{encoded}" if query else path, b"", {}, shape)
        if reply.is_error:
            raise CommandError(f"{self.site} answered {reply.status}: {reply.error}")
        return reply.content

    def change(
        self,
        path: str,
        content: Mapping[str, Any],
        shape: Shape,
        if_match: str | None = None,
        note: str | None = None,
        *,
        is_new: bool = False,
    ) -> ApiReply:
        """Ask for a change, whose result has this shape, or its refusal. ``is_new``: it is to be made only where there
        is no document yet. Raises `CommandError` where the service cannot
        be asked, or what answers is no admin API."""
        headers = {"Content-Type": "application/json"}
        if note:  # one line
            headers["X-Change-Note"] = printable(" ".join(note.split())).encode().decode("latin-1")
        if if_match:
            headers["If-Match"] = if_match
        if is_new:
            headers["If-None-Match"] = "*"
        return self._ask("POST", path, orjson.dumps(content), headers, shape)

    def _ask(self, method: str, path: str, body: bytes, headers: dict[str, str], shape: Shape) -> ApiReply:
        # Without a port, http.client would take the end of an IPv6 address for one.
        connection = (
            http.client.HTTPSConnection(
                self.host, self.port or http.client.HTTPS_PORT, timeout=self.timeout, context=self.context
            )
            if self.context
            else http.client.HTTPConnection(self.host, self.port or http.client.HTTP_PORT, timeout=self.timeout)
        )
        try:
            self._connect(connection)
            try:
                reply = _judged(*self._exchange(connection, method, path, body, headers), shape)
            except _Unusable as unusable:
                raise CommandError(f"{self._where} is no admin API: {unusable}") from None
        finally:
            connection.close()
        if reply.status in (*_REFUSED_TOKEN, *_UNREACHABLE):
            status = FAILED if reply.status in _REFUSED_TOKEN else WRONG_USAGE
            raise CommandError(f"{self._where} answered {reply.status}: {reply.error}", status)
        return reply

    def _connect(self, connection: http.client.HTTPConnection) -> None:
        """Connect. Raises `CommandError`, with the status of a service that cannot be reached."""
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            raise CommandError(
                f"{self._where}: the certificate is not trusted: {error.verify_message}", WRONG_USAGE
            ) from None
        except (OSError, UnicodeError) as error:  # UnicodeError: a host that is no name
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise CommandError(f"{self._where} cannot be reached: {reason}", WRONG_USAGE) from None
        if self.context is None and not _stays_here(connection.sock):
            _warn_of_clear_token(self._where)

    def _exchange(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, str, bytes]:
        """Send a request; return the status, the ETag and the body of its answer. Raises `_Unusable`."""
        is_late, connected = Event(), connection.sock

        def end() -> None:
            is_late.set()
            try:
                # The end is a reset: a server that sends on and on would not notice another before a minute.
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                socket.socket.shutdown(connected, socket.SHUT_RDWR)  # of TLS too: whoever waits is woken
            except OSError:  # it is closed
                pass

        timer = Timer(self.timeout, end)  # a timeout of the socket begins anew with each byte
        timer.daemon = True
        timer.start()
        try:
            token = f"Bearer {self.token}".encode("utf-8", "surrogateescape")
            connection.request(method, self.path + path, body, {**headers, "Authorization": token})
            with connection.getresponse() as response:  # closed here: an error keeps it, and so the connection
                reply = response.status, response.headers.get("ETag", ""), _body(response)
        except (OSError, http.client.HTTPException, ValueError, _Unusable) as error:
            if not is_late.is_set() and not isinstance(error, TimeoutError):
                raise _Unusable(_fault(error)) from None
            is_late.set()
        finally:
            timer.cancel()
        if is_late.is_set():
            raise _Unusable(f"it has not answered within {self.timeout:g} seconds")
        return reply


def _body(response: http.client.HTTPResponse) -> bytes:
    """Return the whole body of an answer. Raises `_Unusable` where it is too large or cut off."""
    body = bytearray()
    while piece := response.read(_AT_ONCE):
        body += piece
        if len(body) > MOST_BYTES:
            raise _Unusable(f"its answer is larger than {MOST_BYTES:,} bytes")
    if response.length:  # `read` of a part does not notice the end
        raise _Unusable("its answer is cut off")
    return bytes(body)


def _fault(error: Exception) -> str:
    if isinstance(error, _Unusable):
        return str(error)
    if isinstance(error, http.client.IncompleteRead):
        return "its answer is cut off"
    if isinstance(error, ConnectionError):
        return "it closed the connection before its answer was whole"
    if isinstance(error, OSError):
        return f"the connection broke: {error.strerror or type(error).__name__}"
    return "what it sent is no answer of HTTP"


def _judged(status: int, etag: str, body: bytes, shape: Shape) -> ApiReply:
    """Return an answer that the API documents. Raises `_Unusable` for any other."""
    if status in _REDIRECTS:
        raise _Unusable(f"it answered {status}, a redirect, which is not followed")
    try:
        content = orjson.loads(body)
    except ValueError:
        raise _Unusable(f"it answered {status} without JSON") from None
    if status == OK:
        if not fits(content, shape):
            raise _Unusable(f"it answered {status} with JSON of another kind")
        if not _ETAG.fullmatch(etag):
            raise _Unusable(f"it answered {status} with an ETag that is none")
    elif status < FIRST_PROBLEM or not fits(content, {"error": str}):
        raise _Unusable(f"it answered {status} with JSON of another kind")
    return ApiReply(status, content, etag)


def _stays_here(connected: socket.socket) -> bool:
    """Return whether the other end of a connection is on this machine."""
    peer, own = connected.getpeername()[0], connected.getsockname()[0]
    return peer == own or ip_address(peer.partition("%")[0]).is_loopback


@cache
def _warn_of_clear_token(where: str) -> None:
    say(f"warning: {where} is another machine, and http sends it the token where others can read it: use https")


def _token(environ: Mapping[str, str], option: str) -> str:
    """Return the token of the settings, the first of two, which ``option`` needs. Raises `CommandError`."""
    tokens = environ.get(TOKEN, "").split()
    path, source = environ.get(f"{TOKEN}_FILE", "").strip(), TOKEN
    if not tokens and path:
        source = f"{TOKEN}_FILE"
        try:
            tokens = Path(path).read_text("utf-8-sig").split()
        except (OSError, UnicodeDecodeError):
            raise CommandError(f"{source}: {path} cannot be read", WRONG_USAGE) from None
    if not tokens:
        raise CommandError(
            f"{option} needs a token: set {TOKEN} or {TOKEN}_FILE in the environment; what SERVICE_ENV_FILE has is for "
            "the service alone",
            WRONG_USAGE,
        )
    if any(ord(sign) < ord(" ") or sign == "\x7f" for sign in tokens[0]):
        raise CommandError(f"{source} holds a control character, which no token has", WRONG_USAGE)
    return tokens[0]

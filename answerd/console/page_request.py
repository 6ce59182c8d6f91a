"""One request for a page, as pages see it, and the replies they give. Alone knows both WSGI and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesHeaderParser
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from answerd.console.protection import COOKIE
from answerd.console.rendering import page
from answerd.console.session import Session
from answerd.server.http.responses import exchange_of
from answerd.server.roles import Role
from answerd.server.threads import in_thread
from answerd.store import Author

MOST_FIELDS = 10_000
"""Fields of a form; a page of machines has one for each machine shown."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a form that is shown again was not carried out. ``is_conflict``: another write came first. ``is_resumed``:
    it was sent when its session had ended, so that nothing was tried."""

    reason: str = ""
    problems: Sequence[str] = ()
    is_conflict: bool = False
    status: int = 409
    is_resumed: bool = False


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request. ``query`` and ``form`` hold each name's values in order. ``session`` is None before log-in.

    A form that was sent is shown by a second request, which has an address: that one has the form too, and why it was
    not carried out in ``refusal``."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    form: Mapping[str, Sequence[str]]
    peer: str
    host: str
    scheme: str
    headers: Mapping[str, str]
    session: Session | None = None
    nonce: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    refusal: Refusal | None = None

    def get(self, name: str, otherwise: str = "") -> str:
        """Return the first value of a query parameter, trimmed."""
        return next(iter(self.query.get(name, ())), otherwise).strip()

    def field(self, name: str, otherwise: str = "") -> str:
        """Return the first value of a form's field, as it was sent."""
        return next(iter(self.form.get(name, ())), otherwise)

    @property
    def address(self) -> str:
        """The path with its query string."""
        given = [(name, value) for name, values in self.query.items() for value in values]
        return f"{self.path}?{urlencode(given, errors='replace')}" if given else self.path

    @property
    def who(self) -> str:
        """The name of the session's token."""
        return self.session.who if self.session is not None else ""

    @property
    def author(self) -> Author:
        """The author of the write that the form asks for, with the note in it."""
        return Author(self.peer, self.who or None, self.field("note").strip() or None)

    @property
    def may_operate(self) -> bool:
        """Whether the session may arm, disarm and forget machines."""
        return self.session is not None and self.session.role.may(Role.OPERATE)

    @property
    def may_edit(self) -> bool:
        """Whether the session may change documents."""
        return self.session is not None and self.session.role.may(Role.ADMIN)

    @property
    def may_edit_rows(self) -> bool:
        """Whether the session may change rows of inventories."""
        return self.session is not None and self.session.role.may(Role.INVENTORY)

    @property
    def sees_secrets(self) -> bool:
        """Whether the session is shown documents and answers as they are, where it asks for that."""
        return self.session is not None and self.session.role.sees_secrets

    @property
    def wants_fragment(self) -> bool:
        """Whether htmx asks for a part of the page only."""
        return self.headers.get("hx-request") == "true"


@dataclass(frozen=True, slots=True)
class PageReply:
    """The response to a page request: a whole page or a fragment of HTML, a file, or a redirect."""

    body: bytes
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


def message_page(request: PageRequest, status: int, message: str, title: str = "Not done") -> PageReply:
    """Return a page that says one thing."""
    return PageReply(page("message", request=request, title=title, message=message), status)


def redirect(where: str, headers: Iterable[tuple[str, str]] = ()) -> PageReply:
    """Return a redirect to a page of this console, to be fetched by GET. ``where`` may come from a form."""
    return PageReply(b"", 303, headers=(("Location", quote(where, safe=_IN_URLS, errors="replace")), *headers))


def saved_at(where: str, revision: int, problems: int = 0) -> str:
    """Return the address of a page that says that a version was saved, and how many problems the set has."""
    address, mark, fragment = where.partition("#")
    more = f"&problems={problems}" if problems else ""
    return f"{address}{'&' if '?' in address else '?'}saved={revision}{more}{mark}{fragment}"


_IN_URLS = "/?&=%:+,;@~!$'()*#"


def cookie_of(headers: Mapping[str, str]) -> str:
    """Return the identifier of a session from the ``Cookie`` header, empty where there is none."""
    # Not by http.cookies, whose time grows with the square of a quoted value (CVE-2024-7592): a client without a
    # session can send 64 KB of it.
    for cookie in headers.get("cookie", "").split(";"):
        name, _, value = cookie.partition("=")
        if name.strip() == COOKIE:
            return value.strip()
    return ""


def number_in(text: str) -> int | None:
    """Return the number of 64 bits that a text of digits is; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


_DIGITS = 18
"""Digits of a number: more are no number of 64 bits."""


def pairs(text: str) -> dict[str, list[str]]:
    """Return the values of a query string or a form by name, in order."""
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS):
        found.setdefault(name, []).append(value)
    return found


def _parts(body: bytes, content_type: str) -> tuple[dict[str, list[str]], dict[str, bytes]]:
    """Return the fields and the files of a form with files (RFC 7578). Raises ValueError."""
    header = Message()
    header["Content-Type"] = content_type
    boundary = header.get_boundary("")
    if not boundary:
        raise ValueError
    fields: dict[str, list[str]] = {}
    files: dict[str, bytes] = {}
    parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("ascii", "replace"), MOST_FIELDS)
    for part in parts[1:-1]:
        head, blank, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        of = BytesHeaderParser().parsebytes(head)
        name = of.get_param("name", header="content-disposition")
        if not blank or not isinstance(name, str):
            raise ValueError
        if of.get_filename() is None:
            fields.setdefault(name, []).append(content.decode("utf-8"))
        else:
            files[name] = content
    return fields, files


def page_request_of(environ: Mapping[str, Any]) -> PageRequest:
    """Return the request of a WSGI environ. Raises ValueError for a form that is none."""
    exchange = exchange_of(environ)
    request = exchange.request
    headers = dict(request.headers)
    form: Mapping[str, Sequence[str]] = {}
    files: Mapping[str, bytes] = {}
    body = request.body
    if request.method == "POST" and headers.get("content-type", "").lower().startswith("multipart/form-data"):
        form, files = in_thread(lambda: _parts(body, headers["content-type"]))
    elif request.method == "POST":
        form = in_thread(lambda: pairs(body.decode("utf-8")))
    return PageRequest(
        request.method,
        unquote(request.path, errors="replace"),
        pairs(request.query),
        form,
        exchange.peer,
        headers.get("host", ""),
        environ["wsgi.url_scheme"],
        headers,
        files=files,
    )

"""The parameters of a request to the admin API: document, format, conditions.

Everything a handler reads from the environ goes through here and is checked once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import bottle

from answerd.answers.secret_names import why_masked
from answerd.documents import Key, NotText, decoded
from answerd.formats import FORMATS
from answerd.identity import Kind, identifier_fault, printable
from answerd.server.etags import Conditions
from answerd.server.http.bodies import Content
from answerd.server.http.responses import Client, Exchange, exchange_of
from answerd.server.roles import NEEDED, Role
from answerd.store import Author

DEFAULT_FORMAT = "toml"

KINDS = {"machines": Kind.MACHINE, "groups": Kind.GROUP}
"""The collections in a path."""


NOTE_LENGTH = 1_000
"""Characters of a note on a change: a line about it, not its text."""


NUMBER_DIGITS = 15


class InvalidRequest(Exception):
    """The request is invalid."""


class Forbidden(Exception):
    """The role of the token does not allow the request."""


class NotThere(Exception):
    """The requested object does not exist."""


def environ() -> dict[str, Any]:
    """Return the environ of the request that is answered."""
    found: dict[str, Any] = bottle.request.environ
    return found


def peer() -> str:
    """Return the address that the request came from, without port."""
    return exchange_of(environ()).peer


def sees_secrets() -> bool:
    """Return whether the client is shown documents and answers as they are."""
    role = exchange_of(environ()).role
    return role is not None and role.sees_secrets


def require(request: str) -> None:
    """Raise `Forbidden` where the client may not do what `answerd.server.roles.NEEDED` names so."""
    exchange, needed = exchange_of(environ()), NEEDED[request]
    if needed is not None and not (exchange.role is not None and exchange.role.may(needed)):
        raise Forbidden(forbidden(exchange, needed))


def forbidden(exchange: Exchange, needed: Role | None) -> str:
    """Return why a token may not do something."""
    return f'the token "{exchange.token_name}" has the role {exchange.role}, this needs {needed}'


def refuse_masked(text: str, what: str) -> None:
    """Refuse a text to be stored that someone read without its secrets. Raises `InvalidRequest`."""
    if reason := why_masked(text, what):
        raise InvalidRequest(reason)


def author() -> Author:
    """Return the author of a change with the note about it. Raises `InvalidRequest`."""
    note = environ().get("HTTP_X_CHANGE_NOTE", "").strip().encode("latin-1", "replace").decode("utf-8", "replace")
    if len(note) > NOTE_LENGTH:
        raise InvalidRequest(f"X-Change-Note has more than {NOTE_LENGTH} characters")
    exchange = exchange_of(environ())
    return Author(exchange.peer, exchange.token_name, printable(note) or None)


def client() -> Client:
    """Return the connection that waits for the response."""
    return exchange_of(environ()).client


def conditions() -> Conditions:
    """Return the request's ``If-Match`` and ``If-None-Match``."""
    return Conditions(environ().get("HTTP_IF_MATCH"), environ().get("HTTP_IF_NONE_MATCH"))


def query() -> dict[str, str]:
    """Return the parameters of the query string. Raises `InvalidRequest` where one is given twice."""
    found: dict[str, str] = {}
    for name, value in parse_qsl(environ()["QUERY_STRING"], keep_blank_values=True):
        if name in found:
            raise InvalidRequest(f"{name} is given more than once")
        found[name] = value
    return found


def number(parameters: Mapping[str, str], name: str) -> int | None:
    """Return a parameter that is a whole number above zero, None where it is not given. Raises `InvalidRequest`."""
    text = parameters.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > NUMBER_DIGITS or not int(text):
        raise InvalidRequest(f"{name} is no whole number above zero")
    return int(text)


def body() -> Content:
    """Return the body as it was sent."""
    request = exchange_of(environ()).request
    return request.body if request.spooled is None else request.spooled


def body_text(key: Key) -> str:
    """Return the body as the text of a document. Raises `InvalidRequest`, which names the document."""
    try:
        text = decoded(key.kind, bytes(body()))
    except NotText as error:
        raise InvalidRequest(f"{key}: the body {error}") from None
    refuse_masked(text, str(key))
    return text


def document_key(collection: str, name: str) -> Key:
    """Return the key that a path and its ``format`` name. Raises `InvalidRequest`."""
    extension = _format(environ()["QUERY_STRING"])
    if not collection:
        return Key(Kind.DEFAULT, "", extension)
    kind = KINDS[collection]
    return Key(kind, identifier(kind, name), extension)


def identifier(kind: Kind, name: str) -> str:
    """Return the identifier in a path's segment, percent-decoded. Raises `InvalidRequest`."""
    try:
        decoded = unquote_to_bytes(name).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest(f"the identifier {name} is not UTF-8") from None
    fault = identifier_fault(kind, decoded)
    if fault:
        raise InvalidRequest(f'"{decoded}": {fault}')
    return decoded


def _format(query: str) -> str:
    given = [value for label, value in parse_qsl(query, keep_blank_values=True) if label == "format"]
    if len(given) > 1:
        raise InvalidRequest("format is given more than once")
    extension = given[0].lower() if given else DEFAULT_FORMAT
    if extension not in FORMATS:
        raise InvalidRequest(f'unknown format "{given[0]}": it is one of {", ".join(FORMATS)}')
    return extension

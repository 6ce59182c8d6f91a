"""What the handlers of the admin API share: routes, the parameters of a request, and the forms of responses.

Everything that a handler reads from the environ goes through here and is checked once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import bottle
import orjson

from answerd.answers.secret_names import why_masked
from answerd.documents import LARGEST_INVENTORY, Key, NotText, decoded
from answerd.etags import Conditions
from answerd.formats import FORMATS
from answerd.identity import Kind, identifier_fault
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.inventory import INVENTORY_FORMATS
from answerd.server.http.responses import Client, Exchange, exchange_of, reason_line
from answerd.server.roles import NEEDED, Caller, Role, may
from answerd.server.statuses import NOT_MODIFIED, OK
from answerd.short_texts import brief, printable
from answerd.store import Author
from answerd.write_guard import ConditionFailed, Times, WrittenDocument

JSON = "application/json"

DEFAULT_FORMAT = "toml"

KINDS = {"machines": Kind.MACHINE, "groups": Kind.GROUP, "inventory": Kind.INVENTORY}
"""The collections in a path."""

DOCUMENT_LIMIT = 262_144
"""Bytes that a document may have (docs/admin-api.md#errors)."""

INVENTORY_LIMIT = LARGEST_INVENTORY
"""Bytes that an inventory may have."""

_NOT_IN_A_CELL = re.compile("[\0\ud800-\udfff]")

_PARAMETER = re.compile(r"<(\w+)(?::re:([^>]+))?>")


@dataclass(frozen=True, slots=True)
class Route:
    """One row of docs/admin-api.md#requests. ``path`` is a rule of Bottle's router.

    A body may have ``body_limit`` bytes, and is ``what`` in the error that says so; of a role below admin
    ``limit_below_admin``, where that is given.
    """

    method: str
    path: str
    handler: Callable[..., bottle.HTTPResponse]
    body_limit: int = DOCUMENT_LIMIT
    what: str = "a document"
    limit_below_admin: int | None = None

    def limit_for(self, role: Role | None) -> int:
        """Return how many bytes a body of a role may have."""
        is_admin = role is not None and role.may(Role.ADMIN)
        return self.body_limit if is_admin or self.limit_below_admin is None else self.limit_below_admin

    @property
    def name(self) -> str:
        """The request as `answerd.server.roles.NEEDED` names it."""
        return f"{self.method} " + _PARAMETER.sub(lambda found: "{" + (found[2] or found[1]) + "}", self.path)


NOTE_LENGTH = 1_000
"""Characters of a note on a change: a line about it, not its text."""

NUMBER_DIGITS = 15


class InvalidRequest(Exception):
    """The request is invalid."""


class Forbidden(Exception):
    """The role of the token does not allow the request."""


class NotThere(Exception):
    """The requested object does not exist."""


class CannotRender(Exception):
    """A document claims the request but its answer cannot be rendered, or an inventory has no such row by itself."""


def exchange() -> Exchange:
    return exchange_of(bottle.request.environ)


def caller() -> Caller | None:
    """Return who asks; None for a probe, which needs no token."""
    known: Caller | None = exchange().caller
    return known


def role() -> Role | None:
    """Return what the client may do; None for a probe."""
    asking = caller()
    return asking.role if asking is not None else None


def sees_secrets() -> bool:
    """Return whether the client is shown documents and answers as they are."""
    allowed = role()
    return allowed is not None and allowed.sees_secrets


def require(request: str) -> None:
    """Raise `Forbidden` where the client may not do what `answerd.server.roles.NEEDED` names so."""
    asking = caller()
    if asking is None:
        if not may(None, request):
            raise Forbidden(f"this needs {NEEDED[request]}")
    elif not may(asking.role, request):
        raise Forbidden(f'the token "{asking.name}" has the role {asking.role}, this needs {NEEDED[request]}')


def cell_fault(column: str, text: str) -> str:
    """Return why a text cannot be the cell of a column; empty where it can."""
    if _NOT_IN_A_CELL.search(text):
        return f"column {brief(column)}: the cell has a character that no inventory can hold"
    return why_masked(text, f"column {brief(column)}")


def refuse_masked(text: str, what: str) -> None:
    """Refuse a text to be stored that someone read without its secrets. Raises `InvalidRequest`."""
    if reason := why_masked(text, what):
        raise InvalidRequest(reason)


def author() -> Author:
    """Return the author of a change with the note about it. Raises `InvalidRequest`."""
    note = bottle.request.environ.get("HTTP_X_CHANGE_NOTE", "").strip()
    note = note.encode("latin-1", "replace").decode("utf-8", "replace")
    if len(note) > NOTE_LENGTH:
        raise InvalidRequest(f"X-Change-Note has more than {NOTE_LENGTH} characters")
    asking = caller()
    return Author(exchange().peer, asking.name if asking is not None else None, printable(note) or None)


def client() -> Client:
    return exchange().client


def times() -> Times:
    """Return until when a change may take: until the client must have its response."""
    waiting = client()
    return Times(waiting.respond_by, waiting.deadline)


def conditions() -> Conditions:
    environ = bottle.request.environ
    return Conditions(environ.get("HTTP_IF_MATCH"), environ.get("HTTP_IF_NONE_MATCH"))


def query(*known: str) -> dict[str, str]:
    """Return the parameters of the query string. Raises `InvalidRequest` where one is given twice, or is none of
    ``known``, where any is named."""
    return {name: values[0] for name, values in lists_in_query((), *known).items()}


def lists_in_query(several: Collection[str], *known: str) -> dict[str, list[str]]:
    """Return the parameters of the query string, each with its values; those of ``several`` may have more than one.
    Raises `InvalidRequest` as `query` does."""
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(bottle.request.environ["QUERY_STRING"], keep_blank_values=True):
        if known and name not in known:
            raise InvalidRequest(f'unknown parameter "{printable(name)}": it is one of {", ".join(known)}')
        if name in found and name not in several:
            raise InvalidRequest(f"{name} is given more than once")
        found.setdefault(name, []).append(value)
    return found


def is_strict() -> bool:
    """Return whether a change is to be refused whose answers installers would refuse. Raises `InvalidRequest`."""
    return _flag("strict")


def is_dry_run() -> bool:
    """Return whether a change is only to be tried. Raises `InvalidRequest`."""
    return _flag("dry_run")


def _flag(name: str) -> bool:
    given = query().get(name, "0")
    if given not in ("0", "1"):
        raise InvalidRequest(f"{name} is neither 0 nor 1")
    return given == "1"


def number(parameters: Mapping[str, str], name: str) -> int | None:
    """Return a parameter that is a whole number above zero, None where it is not given. Raises `InvalidRequest`."""
    text = parameters.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > NUMBER_DIGITS or not int(text):
        raise InvalidRequest(f"{name} is no whole number above zero")
    return int(text)


def body() -> bytes:
    return exchange().request.body


def body_text(key: Key) -> str:
    """Return the body as the text of a document. Raises `InvalidRequest`, which names the document."""
    try:
        text = decoded(key.kind, body())
    except NotText as error:
        raise InvalidRequest(f"{key}: the body {error}") from None
    refuse_masked(text, str(key))
    return text


def document_key(collection: str, name: str) -> Key:
    """Return the key that a path and its ``format`` name. Raises `InvalidRequest`."""
    kind = KINDS[collection] if collection else Kind.DEFAULT
    if kind is Kind.INVENTORY:
        given = query().get("format", INVENTORY_FORMAT).lower()
        if given not in INVENTORY_FORMATS:
            raise InvalidRequest(f'unknown format "{given}" of an inventory: it is {" or ".join(INVENTORY_FORMATS)}')
        return Key(kind, identifier(kind, name), given)
    given = query().get("format", DEFAULT_FORMAT)
    if given.lower() not in FORMATS:
        raise InvalidRequest(f'unknown format "{given}": it is one of {", ".join(FORMATS)}')
    return Key(kind, identifier(kind, name) if collection else "", given.lower())


def identifier(kind: Kind, name: str) -> str:
    try:
        decoded = unquote_to_bytes(name).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidRequest(f"the identifier {name} is not UTF-8") from None
    fault = identifier_fault(kind, decoded)
    if fault:
        raise InvalidRequest(f'"{decoded}": {fault}')
    return decoded


class AdminResponse(bottle.HTTPResponse):  # type: ignore[misc]
    """A response that leaves no reference cycle when it is raised: Bottle's frame and it would refer to each other."""

    def apply(self, other: Any) -> None:
        """Bottle calls this once it has caught the response."""
        self.__traceback__ = None
        super().apply(other)


def json_response(status: int, value: dict[str, Any], headers: dict[str, Any] | None = None) -> AdminResponse:
    """Return a JSON response. Of an error, its line is logged too."""
    if "error" in value:
        note_outcome(value["error"])
    return AdminResponse(json_bytes(value), status, {"Content-Type": JSON, **(headers or {})})


MASKED = {"X-Masked": "1"}
"""The header of a text whose secrets are hidden from the role of the client."""


def shown_etag(tag: str) -> tuple[str, dict[str, str]]:
    """Return the tag of a stored text as the client is shown it, and `MASKED` where its secrets are hidden from the
    client. The tag of such a text is another one, so that nobody stores it in place of the text by ``If-Match``."""
    return (tag, {}) if sees_secrets() else (f'{tag[:-1]}-masked"', MASKED)


def json_bytes(value: dict[str, Any]) -> bytes:
    """Return a value as JSON. Characters that UTF-8 cannot encode are replaced."""
    try:
        return orjson.dumps(value)  # much faster, which counts for a response of megabytes
    except orjson.JSONEncodeError:
        pass
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def error_response(
    status: int, reason: str, problems: tuple[str, ...] = (), headers: dict[str, Any] | None = None
) -> AdminResponse:
    """Return an error: one line, and the problems that a refused write would have caused."""
    value: dict[str, Any] = {"error": reason_line(reason)}
    if problems:
        value["problems"] = list(problems)
    return json_response(status, value, headers)


def note_outcome(outcome: str) -> None:
    exchange().outcome = outcome


def unchanged(tag: str) -> bottle.HTTPResponse | None:
    """Return the response to a request whose client has the text with this tag already, None where it has not. Raises
    `ConditionFailed` where the text is another one than the client wants."""
    asked = conditions()
    if asked.if_match is not None and (fault := Conditions(asked.if_match).fault(tag)):
        raise ConditionFailed(fault)
    return bottle.HTTPResponse(b"", NOT_MODIFIED, {"ETag": tag}) if asked.is_not_modified(tag) else None


def written_response(status: str, written: WrittenDocument) -> AdminResponse:
    """Return the response to a write; of a removal it has no tag. ``status`` is what was done where anything was."""
    status = status if written.is_new else "unchanged"
    note_outcome(f"{status} {written.key}")
    headers = {} if status == "deleted" else {"ETag": written.etag}
    value: dict[str, Any] = {"status": status, "problems": [*written.problems]}
    is_that_machine = status == "deleted" and written.key.kind is Kind.MACHINE
    if written.machines and not is_that_machine:
        value["machines"] = written.machines
    return json_response(OK, value, headers)

"""The body of ``POST /apply``: up to 64 MB of JSON, read element by element.

Rules: docs/admin-api.md#apply.

The body is never parsed as a whole, which would hold up every other request for as long as it takes. A scan finds where
the elements of ``put`` and ``delete`` begin and end; each is parsed by itself, and ``pause`` is called in between. What
is left of the body is its skeleton, a few bytes for each element, which a JSON parser judges too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from answerd.documents import Key, RawDocument
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.server.admin.requests import DEFAULT_FORMAT, InvalidRequest
from answerd.server.admin.routes import DOCUMENT_LIMIT, INVENTORY_LIMIT
from answerd.server.spool import Content
from answerd.server.write_guard import ChangeSet
from answerd.store.tables import key_fault

BODY_LIMIT = 67_108_864
"""Bytes of a body: 64 MB."""

SKELETON_LIMIT = 1_048_576
"""Bytes of a body outside of the elements, beside those that separate them."""

_SEPARATOR_BYTES = 64
"""Bytes between two elements that are not counted: a comma, and the indentation of a person's JSON."""

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
"""A string, to the end of the body where it is not closed, or a bracket."""

_ARRAYS = ("put", "delete")
_FLAGS = ("prune", "dry_run")
_FIELDS = {"put": ("kind", "identifier", "format", "text"), "delete": ("kind", "identifier", "format")}


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A change as it is asked for."""

    changes: ChangeSet
    dry_run: bool


def read_change(body: Content, pause: Callable[[], None]) -> ChangeRequest:
    """Return what a body asks for. Raises `InvalidRequest`."""
    scan = _Scan()
    documents: dict[str, list[RawDocument]] = {name: [] for name in _ARRAYS}
    for name, start, end in scan.elements(body):
        place = f"{name}[{len(documents[name])}]"
        documents[name].append(_document(name, place, _parsed(bytes(body[start:end]), place)))
        pause()
    told = _parsed(bytes(scan.skeleton), "the body")
    if not isinstance(told, dict):
        raise InvalidRequest("the body is no JSON object")
    unknown = sorted(told.keys() - {*_ARRAYS, *_FLAGS})
    if unknown:
        raise InvalidRequest(f"the body has an unknown key: it may have {', '.join((*_ARRAYS, *_FLAGS))}")
    for name in _ARRAYS:
        if not isinstance(told.get(name, []), list) or told.get(name, []) != [{}] * len(documents[name]):
            raise InvalidRequest(f'"{name}" is no list of objects, or is there twice')
    for name in _FLAGS:
        if not isinstance(told.get(name, False), bool):
            raise InvalidRequest(f'"{name}" is neither true nor false')
    changes = ChangeSet(
        tuple(documents["put"]), tuple(raw.key for raw in documents["delete"]), bool(told.get("prune", False))
    )
    return ChangeRequest(changes, bool(told.get("dry_run", False)))


@dataclass(slots=True)
class _Scan:
    """The walk over a body's strings and brackets."""

    skeleton: bytearray = field(default_factory=bytearray)

    def elements(self, body: Content) -> Iterator[tuple[str, int, int]]:
        """Yield the array, start and end of each object in one of the arrays; the rest becomes the skeleton."""
        depth, array, key, start, kept = 0, "", b"", 0, 0
        for count, token in enumerate(_TOKEN.finditer(body)):
            character = token[0][:1]
            if character == b'"':
                if depth == 1:
                    key = token[0]
                continue
            if character in b"{[":
                if depth == 1:
                    array = _name(key) if character == b"[" else ""
                elif depth == 2 and character == b"{" and array:  # noqa: PLR2004 - inside the object and its array
                    start = token.start()
                    self._keep(body, kept, start, count)
                depth += 1
                continue
            depth -= 1
            if depth == 2 and character == b"}" and array:  # noqa: PLR2004
                kept = token.end()
                self.skeleton += b"{}"
                yield array, start, kept
        self._keep(body, kept, len(body), len(self.skeleton))

    def _keep(self, body: Content, start: int, end: int, elements: int) -> None:
        if len(self.skeleton) + end - start > SKELETON_LIMIT + _SEPARATOR_BYTES * elements:
            raise InvalidRequest(f"the body has more than {SKELETON_LIMIT} bytes that are no document")
        self.skeleton += body[start:end]


def _name(key: bytes) -> str:
    """Return the array that a key names, empty for any other key."""
    name = _parsed(key, "a key of the body")
    return name if name in _ARRAYS else ""


def _parsed(text: bytes, place: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"{place} is no JSON: {error.msg} (line {error.lineno} column {error.colno})") from None


def _document(array: str, place: str, told: dict[str, Any]) -> RawDocument:
    """Return the document that an element describes; of a deletion without a text. Raises `InvalidRequest`."""
    unknown = sorted(told.keys() - set(_FIELDS[array]))
    if unknown:
        raise InvalidRequest(f"{place} has an unknown key: it may have {', '.join(_FIELDS[array])}")
    for name in _FIELDS[array]:
        if not isinstance(told.get(name, ""), str):
            raise InvalidRequest(f'"{name}" of {place} is no text')
    if array == "put" and "text" not in told:
        raise InvalidRequest(f"{place} has no text")
    key = _key(place, told)
    text = told.get("text", "")
    limit = INVENTORY_LIMIT if key.kind is Kind.INVENTORY else DOCUMENT_LIMIT
    if len(text) > limit or len(text.encode()) > limit:
        raise InvalidRequest(f"{place}, {key}, has more than {limit} bytes")
    return RawDocument(key, text)


def _key(place: str, told: dict[str, Any]) -> Key:
    kinds = {kind.value: kind for kind in Kind}
    kind = kinds.get(told.get("kind", ""))
    if kind is None:
        raise InvalidRequest(f"the kind of {place} is none of {', '.join(sorted(kinds))}")
    default = "csv" if kind is Kind.INVENTORY else DEFAULT_FORMAT
    extension = told.get("format", default).lower()
    if kind is not Kind.INVENTORY and extension not in FORMATS:
        raise InvalidRequest(f"the format of {place} is none of {', '.join(FORMATS)}")
    key = Key(kind, told.get("identifier", ""), extension)
    fault = key_fault(key)
    if fault:
        raise InvalidRequest(f"{place}, {key}: {fault}")
    return key

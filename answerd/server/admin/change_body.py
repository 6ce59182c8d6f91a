"""The body of ``POST /apply``: up to 64 MB of JSON, read element by element.

Rules: docs/admin-api.md#apply.

The body is never parsed as a whole, which would hold up every other request for as long as it takes. A scan finds where
the elements of ``put`` and ``delete`` begin and end; each is parsed by itself, and ``pause`` is called in between. The
rest of the body is its skeleton, a few bytes for each element, which a JSON parser checks too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from answerd.documents import Key, RawDocument
from answerd.formats import FORMATS
from answerd.identity import IDENTIFIER_LENGTH, Kind
from answerd.server.admin.requests import DEFAULT_FORMAT, InvalidRequest
from answerd.server.admin.routes import DOCUMENT_LIMIT, INVENTORY_LIMIT
from answerd.server.http.bodies import Content
from answerd.server.write_guard import ChangeSet
from answerd.store.tables import key_fault

BODY_LIMIT = 67_108_864
"""Bytes of a body: 64 MB."""

SKELETON_LIMIT = 1_048_576
"""Bytes of a body outside of the elements, beside those that separate them."""

_SEPARATOR_BYTES = 64
"""Bytes between two elements that are not counted: a comma, and the indentation of a person's JSON."""

_WINDOW = 262_144
"""Bytes of a body that one step of the scan covers: a few milliseconds."""

_PAUSE_EVERY = 256
"""Tokens of one step after which the scan pauses."""

_LARGEST_ELEMENT = 1_048_576 + 6 * DOCUMENT_LIMIT
"""Bytes of an element beside its long strings: four strings that are not long, and white space."""

_LONGEST_KEY = 256
"""Bytes of a key of an element, however it is escaped."""

_NAME_BYTES = 64
"""Bytes of the longest key that can be one of the known ones, however it is escaped."""

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)|[{}\[\]]', re.DOTALL)
"""A string, to the end of the scanned part where it is not closed there, or a bracket."""

_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)', re.DOTALL)
"""The rest of a string, to the end of the scanned part where it is not closed there."""

_LONG_STRING = 262_144
"""Bytes of a string above which it is read in pieces of about so many bytes: a millisecond each."""

_PIECE = re.compile(
    rb'(?:[^"\\]++|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\[^u])*+',
    re.DOTALL,
)
"""The beginning of a string that ends neither within an escape nor between the two of a surrogate pair."""

_CONTINUES, _IN_CHARACTER = 0x80, 0xC0
"""In UTF-8, the bits of a byte that is not the first of its character."""

_QUOTE, _BRACKET = b'"['
_OPENING = b"{["
_IN_ARRAY, _IN_ELEMENT = 2, 3
"""The depth of the elements of each array, and their keys."""

_ARRAYS = ("put", "delete")
_FLAGS = ("prune", "dry_run")
_FIELDS = {"put": ("kind", "identifier", "format", "text"), "delete": ("kind", "identifier", "format")}


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A change as it is asked for."""

    changes: ChangeSet
    dry_run: bool


def read_change(body: Content, pause: Callable[[], None]) -> ChangeRequest:
    """Return the change that a body asks for. Raises `InvalidRequest`."""
    scan = _Scan(body, pause)
    documents: dict[str, list[RawDocument]] = {name: [] for name in _ARRAYS}
    for name, start, end, strings in scan.elements():
        place = f"{name}[{len(documents[name])}]"
        element = scan.element(start, end, place)
        document = _document(name, place, element)
        if strings != 2 * len(element):  # every key and every value is a string
            raise InvalidRequest(f"a key of {place} is there twice")
        documents[name].append(document)
        pause()
    fields = _parsed(bytes(scan.skeleton), "the body")
    if not isinstance(fields, dict):
        raise InvalidRequest("the body is no JSON object")
    unknown = sorted(fields.keys() - {*_ARRAYS, *_FLAGS})
    if unknown:
        raise InvalidRequest(f"the body has an unknown key: it may have {', '.join((*_ARRAYS, *_FLAGS))}")
    for name in _ARRAYS:
        if not isinstance(fields.get(name, []), list) or fields.get(name, []) != [0] * len(documents[name]):
            raise InvalidRequest(f'"{name}" is no list of objects')
    for name in _FLAGS:
        if not isinstance(fields.get(name, False), bool):
            raise InvalidRequest(f'"{name}" is neither true nor false')
    changes = ChangeSet(
        tuple(documents["put"]), tuple(raw.key for raw in documents["delete"]), bool(fields.get("prune", False))
    )
    return ChangeRequest(changes, bool(fields.get("dry_run", False)))


@dataclass(slots=True)
class _Scan:
    """The walk over a body's strings and brackets, in steps of a few milliseconds with ``pause`` in between."""

    body: Content
    pause: Callable[[], None]
    skeleton: bytearray = field(default_factory=bytearray)
    _names: set[str] = field(default_factory=set)
    _kept: int = 0
    _elements: int = 0
    _open: bool = False
    _long: list[tuple[int, int]] = field(default_factory=list)
    """Where the long texts of the element that was read last begin and end."""

    def elements(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield the array, start, end and number of strings of each object in one of the arrays.

        The rest becomes the skeleton. Raises `InvalidRequest`: the body is nested deeper than a change is, or names a
        key twice.
        """
        depth, name, array, start, strings = 0, "", "", 0, 0
        for bracket, at, end in self._tokens():
            if bracket == _QUOTE:
                strings += 1
                name = self._named(at, end) if depth == 1 else name
                self._note_string(array, strings, at, end)
                continue
            if bracket in _OPENING:
                if depth == 0 and bracket == _BRACKET:
                    raise InvalidRequest("the body is no JSON object")
                if depth == 1:
                    array = name if bracket == _BRACKET and name in _ARRAYS else ""
                    if not array:
                        raise InvalidRequest(_fault_of_value(name))
                elif depth == _IN_ARRAY:
                    if bracket == _BRACKET:
                        raise InvalidRequest(_fault_of_value(array))
                    start, strings, self._open = at, 0, True
                    self._long.clear()
                    self._keep(start)
                elif depth == _IN_ELEMENT:
                    raise InvalidRequest(f'a value in an object of "{array}" is no text')
                depth += 1
                continue
            depth -= 1
            if depth <= 0:
                break  # whatever follows is no part of the object
            if depth == _IN_ARRAY:
                self._end_element(array, start, end)
                yield array, start, end, strings
        self._keep(len(self.body))

    def _note_string(self, array: str, number: int, start: int, end: int) -> None:
        """Take note of the string with this number in an element. Raises `InvalidRequest`: no element has so many, or a
        key is longer than any."""
        if not self._open:
            return
        is_key = number % 2 == 1  # every value is a string
        if number > 2 * len(_FIELDS[array]) or (is_key and end - start > _LONGEST_KEY):
            raise InvalidRequest(f'an object of "{array}" has an unknown key: it may have {", ".join(_FIELDS[array])}')
        if not is_key and end - start > _LONG_STRING:
            self._long.append((start, end))

    def _end_element(self, array: str, start: int, end: int) -> None:
        self._kept, self._open = end, False
        self._elements += 1
        self.skeleton += b"0"  # which is parsed in a tenth of the time that an object takes
        if end - start - sum(to - at for at, to in self._long) > _LARGEST_ELEMENT:
            raise InvalidRequest(f'an object of "{array}" has too many bytes that are no text')

    def element(self, start: int, end: int, place: str) -> Any:
        """Return the element between two places of the body, the one that `elements` yielded last.

        Of a long text its number is parsed, and then replaced by the text.
        """
        if not self._long:
            return _parsed(bytes(self.body[start:end]), place)
        short = bytearray()
        at = start
        for number, (begin, to) in enumerate(self._long):
            short += self.body[at:begin] + str(number).encode()
            at = to
        element = _parsed(bytes(short + self.body[at:end]), place)
        for name, value in element.items():
            if type(value) is int and 0 <= value < len(self._long):  # a number that is the client's is refused anyway
                begin, to = self._long[value]
                element[name] = "".join(self._pieces(begin + 1, to - 1, place))
        return element

    def _pieces(self, at: int, end: int, place: str) -> Iterator[str]:
        """Yield the text of a long string, without its quotes, piece by piece."""
        body, left = self.body, INVENTORY_LIMIT
        while at < end and left >= 0:
            self.pause()
            found = _PIECE.match(body, at, min(at + _LONG_STRING, end))
            to = found.end() if found else at
            while to < end and at < to and body[to] & _IN_CHARACTER == _CONTINUES:
                to -= 1
            text = _parsed(b'"' + bytes(body[at : to if to > at else end]) + b'"', place)
            left -= len(text)
            yield text
            at = to if to > at else end

    def _tokens(self) -> Iterator[tuple[int, int, int]]:
        """Yield the first byte, start and end of each string and bracket. A string that is not closed ends the walk."""
        body, at = self.body, 0
        while at < len(body):
            look = min(at + _WINDOW, len(body))
            self.pause()
            for count, token in enumerate(_TOKEN.finditer(body, at, look), 1):
                start, at = token.span()
                if body[start] == _QUOTE and token[1] != b'"':
                    at = self._end_of_string(at - len(token[1]))
                    yield _QUOTE, start, at
                    break
                yield body[start], start, at
                if not count % _PAUSE_EVERY:
                    self.pause()
            else:
                at = look
            if not self._open:
                self._bound(at - self._kept)

    def _end_of_string(self, at: int) -> int:
        """Return the end of a string that is open at ``at``, in as many steps as it needs."""
        body = self.body
        while True:
            self.pause()
            look = min(at + _WINDOW, len(body))
            rest = _REST.match(body, at, look)
            if rest and rest[1] == b'"':
                return rest.end()
            if not rest or look == len(body):
                return len(body)
            at = look - len(rest[1])

    def _named(self, start: int, end: int) -> str:
        """Return the known key that a string is, else nothing. Raises `InvalidRequest`: it is there twice."""
        if end - start > _NAME_BYTES:
            return ""
        name = _parsed(bytes(self.body[start:end]), "a key of the body")
        if name not in (*_ARRAYS, *_FLAGS):
            return ""
        if name in self._names:
            raise InvalidRequest(f'"{name}" is there twice')
        self._names.add(name)
        return str(name)

    def _keep(self, end: int) -> None:
        self._bound(end - self._kept)
        self.skeleton += self.body[self._kept : end]

    def _bound(self, more: int) -> None:
        if len(self.skeleton) + more > SKELETON_LIMIT + _SEPARATOR_BYTES * self._elements:
            raise InvalidRequest(f"the body has more than {SKELETON_LIMIT} bytes that are no document")


def _fault_of_value(name: str) -> str:
    """Return the fault of a key of the body that has an array or an object as its value."""
    if name in _ARRAYS:
        return f'"{name}" is no list of objects'
    if name in _FLAGS:
        return f'"{name}" is neither true nor false'
    return f"the body has an unknown key: it may have {', '.join((*_ARRAYS, *_FLAGS))}"


def _parsed(text: bytes, place: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"{place} is no JSON: {error.msg} (line {error.lineno} column {error.colno})") from None


def _document(array: str, place: str, fields: dict[str, Any]) -> RawDocument:
    """Return the document that an element describes; of a deletion without a text. Raises `InvalidRequest`."""
    unknown = sorted(fields.keys() - set(_FIELDS[array]))
    if unknown:
        raise InvalidRequest(f"{place} has an unknown key: it may have {', '.join(_FIELDS[array])}")
    for name in _FIELDS[array]:
        if not isinstance(fields.get(name, ""), str):
            raise InvalidRequest(f'"{name}" of {place} is no text')
    if array == "put" and "text" not in fields:
        raise InvalidRequest(f"{place} has no text")
    key = _key(place, fields)
    text = fields.get("text", "")
    limit = INVENTORY_LIMIT if key.kind is Kind.INVENTORY else DOCUMENT_LIMIT
    if len(text) > limit or len(text.encode()) > limit:
        raise InvalidRequest(f"{place}, {key}, has more than {limit} bytes")
    return RawDocument(key, text)


def _key(place: str, fields: dict[str, Any]) -> Key:
    kinds = {kind.value: kind for kind in Kind}
    kind = kinds.get(fields.get("kind", ""))
    if kind is None:
        raise InvalidRequest(f"the kind of {place} is none of {', '.join(sorted(kinds))}")
    default = "csv" if kind is Kind.INVENTORY else DEFAULT_FORMAT
    extension = fields.get("format", default).lower()
    if kind is not Kind.INVENTORY and extension not in FORMATS:
        raise InvalidRequest(f"the format of {place} is none of {', '.join(FORMATS)}")
    identifier = fields.get("identifier", "")
    if len(identifier) > IDENTIFIER_LENGTH:
        raise InvalidRequest(f"the identifier of {place} has more than {IDENTIFIER_LENGTH} characters")
    key = Key(kind, identifier, extension)
    fault = key_fault(key)
    if fault:
        raise InvalidRequest(f"{place}, {key}: {fault}")
    return key

"""The body of ``POST /apply``: up to 64 MB of JSON (docs/admin-api.md#apply)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

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

_ARRAYS = ("put", "delete")
_FLAGS = ("prune", "dry_run")
_FIELDS = {"put": ("kind", "identifier", "format", "text"), "delete": ("kind", "identifier", "format")}


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A change as it is asked for."""

    changes: ChangeSet
    dry_run: bool


class _Repeated(dict[str, Any]):
    """An object that has a key twice."""


def read_change(body: Content) -> ChangeRequest:
    """Return the change that a body asks for. Raises `InvalidRequest`."""
    fields = _parsed(body)
    if not isinstance(fields, dict):
        raise InvalidRequest("the body is no JSON object")
    if isinstance(fields, _Repeated):
        raise InvalidRequest("a key of the body is there twice")
    if not fields.keys() <= {*_ARRAYS, *_FLAGS}:
        raise InvalidRequest(f"the body has an unknown key: it may have {', '.join((*_ARRAYS, *_FLAGS))}")
    documents: dict[str, list[RawDocument]] = {}
    for name in _ARRAYS:
        elements = fields.get(name, [])
        if not isinstance(elements, list) or not all(isinstance(element, dict) for element in elements):
            raise InvalidRequest(f'"{name}" is no list of objects')
        documents[name] = [_document(name, f"{name}[{at}]", element) for at, element in enumerate(elements)]
    for name in _FLAGS:
        if not isinstance(fields.get(name, False), bool):
            raise InvalidRequest(f'"{name}" is neither true nor false')
    changes = ChangeSet(
        tuple(documents["put"]), tuple(raw.key for raw in documents["delete"]), fields.get("prune", False)
    )
    return ChangeRequest(changes, fields.get("dry_run", False))


def _parsed(body: Content) -> Any:
    """Return the value of a body. The standard library's parser is the one that says when a key is there twice."""
    try:
        text = str(body, "utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the body is no JSON: byte {error.start} is not UTF-8") from None
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"the body is no JSON: {error.msg} (line {error.lineno} column {error.colno})") from None
    except RecursionError:
        raise InvalidRequest("the body is nested deeper than a change is") from None
    except ValueError:  # an integer of thousands of digits
        raise InvalidRequest("a number in the body is too long") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Repeated(found)


def _refuse_constant(name: str) -> Any:
    raise InvalidRequest(f"the body is no JSON: {name} is no value of JSON")


def _document(array: str, place: str, fields: dict[str, Any]) -> RawDocument:
    """Return the document that an element describes; of a deletion without a text. Raises `InvalidRequest`."""
    if isinstance(fields, _Repeated):
        raise InvalidRequest(f"a key of {place} is there twice")
    if not fields.keys() <= set(_FIELDS[array]):
        raise InvalidRequest(f"{place} has an unknown key: it may have {', '.join(_FIELDS[array])}")
    size = 0
    for name in _FIELDS[array]:
        value = fields.get(name, "")
        if not isinstance(value, str):
            raise InvalidRequest(f'"{name}" of {place} is no text')
        try:
            size = len(value.encode())  # in the end that of the text, which comes last
        except UnicodeEncodeError:
            raise InvalidRequest(f'"{name}" of {place} holds half of a surrogate pair') from None
    if array == "put" and "text" not in fields:
        raise InvalidRequest(f"{place} has no text")
    key = _key(place, fields)
    limit = INVENTORY_LIMIT if key.kind is Kind.INVENTORY else DOCUMENT_LIMIT
    if size > limit:
        raise InvalidRequest(f"{place}, {key}, has more than {limit} bytes")
    return RawDocument(key, fields.get("text", ""))


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

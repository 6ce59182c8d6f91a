"""Documents: listed, read, stored and removed, one by one.

Rules: docs/admin-api.md#requests, docs/admin-api.md#what-a-write-guarantees.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import bottle

from answerd.answers.redaction import redacted
from answerd.documents import Key
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.server.admin import requests
from answerd.server.admin.requests import (
    INVENTORY_LIMIT,
    KINDS,
    InvalidRequest,
    NotThere,
    Route,
    json_response,
    note_outcome,
    shown_etag,
    unchanged,
    written_response,
)
from answerd.server.statuses import NOT_MODIFIED, OK
from answerd.server.write_guard import WriteGuard, etag, set_etag
from answerd.store import DocumentEntry

CSV = "text/csv; charset=utf-8"


class DocumentHandlers:
    """Handlers of ``/machines``, ``/groups`` and ``/default``, and of an inventory as a whole."""

    def __init__(self, guard: WriteGuard) -> None:
        self.guard = guard
        self.store = guard.store

    def routes(self) -> Iterable[Route]:
        yield Route("GET", "/<collection:re:machines|groups>", self.list)
        for path in ("/<collection:re:machines|groups>/<name>", "/default"):
            yield Route("GET", path, self.get)
            yield Route("PUT", path, self.put)
            yield Route("DELETE", path, self.delete)
        path, inventory = "/inventory/<name>", {"collection": "inventory"}
        yield Route("GET", path, partial(self.get, **inventory))
        yield Route("PUT", path, partial(self.put, **inventory), body_limit=INVENTORY_LIMIT, what="an inventory")
        yield Route("DELETE", path, partial(self.delete, **inventory))

    def list(self, collection: str) -> bottle.HTTPResponse:
        """Return the identifiers of a kind, each once per format, or with ``detail=1`` an object for each."""
        kind, query = KINDS[collection], requests.query()
        detail = query.get("detail", "0")
        if detail not in ("0", "1"):
            raise InvalidRequest("detail is neither 0 nor 1")
        after, limit = query.get("after", ""), requests.number(query, "limit")
        version = self.guard.run(self.store.version)  # before the list, which may be newer
        tag = set_etag(version)
        if requests.conditions().is_not_modified(tag):
            return bottle.HTTPResponse(b"", NOT_MODIFIED, {"ETag": tag})
        entries = self.guard.run(self.store.entries, kind, after, limit)
        note_outcome(f"{len(entries)} {collection}")
        found = [_entry_as_json(entry) if detail == "1" else entry.key.identifier for entry in entries]
        return json_response(OK, {kind.value: found}, {"ETag": tag})

    def get(self, collection: str = "", name: str = "") -> bottle.HTTPResponse:
        """Return a document exactly as it was written; without its secrets for a role that does not see them."""
        key = requests.document_key(collection, name)
        stored = self.guard.run(self.store.find, key)
        if stored is None:
            raise NotThere(f"there is no {key}{self._other_formats(key)}")
        note_outcome(str(stored.key))
        tag, masked = shown_etag(etag(stored.revision, stored.token))
        if response := unchanged(tag):
            return response
        body = stored.body
        if masked:
            text, labels = body.decode("utf-8", "replace"), self.guard.follower.loader.catalogue.columns
            body = self.guard.run(lambda: redacted(text, key.format, labels=labels).encode())
        content_type = CSV if key.kind is Kind.INVENTORY else FORMATS[key.format].content_type
        return bottle.HTTPResponse(body, OK, {"Content-Type": content_type, "ETag": tag, **masked})

    def _other_formats(self, key: Key) -> str:
        """Return in which other formats there is a document of this name, in words; empty where there is none."""
        if key.kind is Kind.INVENTORY:
            return ""
        there = [extension for extension in FORMATS if self.guard.run(self.store.find, key._replace(format=extension))]
        return f"; it exists as {', '.join(there)}: ask with ?format=" if there else ""

    def put(self, collection: str = "", name: str = "") -> bottle.HTTPResponse:
        key = requests.document_key(collection, name)
        text = requests.body_text(key)
        written = self.guard.put(key, text, requests.author(), requests.conditions(), requests.client())
        return written_response("stored", written)

    def delete(self, collection: str = "", name: str = "") -> bottle.HTTPResponse:
        key = requests.document_key(collection, name)
        written = self.guard.delete(key, requests.author(), requests.conditions(), requests.client())
        return written_response("deleted", written)


def _entry_as_json(entry: DocumentEntry) -> dict[str, Any]:
    return {
        "identifier": entry.key.identifier,
        "format": entry.key.format,
        "etag": etag(entry.revision, entry.token),
        "bytes": entry.size,
        "changed": entry.changed,
    }

"""Many changes as one, and the history of changes.

Rules: docs/admin-api.md#apply, docs/admin-api.md#history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import Any

import bottle

from answerd.answers.diff import Comparison, compare, diff_lines
from answerd.answers.redaction import redacted
from answerd.documents import Key
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.long_work import run_long
from answerd.server.admin import requests
from answerd.server.admin.change_body import BODY_LIMIT, ChangeRequest, read_change
from answerd.server.admin.requests import InvalidRequest, NotThere
from answerd.server.admin.responses import json_response, note_outcome
from answerd.server.admin.routes import Route
from answerd.server.statuses import OK
from answerd.server.threads import release_gradually
from answerd.server.write_guard import AppliedChange, WriteGuard, WriteRefused, restore_document
from answerd.store import HistoryEntry, HistoryFilter, StoreError
from answerd.store.history import beginning

NAMED_AT_MOST = 1_000
"""Documents of each sort that a response names."""

HISTORY_LIMIT = 100
"""Changes in a response where the request names no limit."""

MOST_HISTORY = 1_000
"""Changes in a response at most: each may hold two documents."""

HISTORY_BYTES = 4_194_304
"""Bytes of the texts in a response; the first change is always there."""


class ChangeHandlers:
    """Handlers of ``/apply`` and ``/history``."""

    def __init__(self, guard: WriteGuard) -> None:
        self.guard = guard
        self.store = guard.store

    def routes(self) -> Iterable[Route]:
        """Return the requests that this group answers."""
        yield Route("POST", "/apply", self.apply, body_limit=BODY_LIMIT, what="a change")
        yield Route("GET", "/history", self.history)
        yield Route("POST", "/history/<revision>/restore", self.restore)

    def apply(self) -> bottle.HTTPResponse:
        """Make a change of many documents, or return its effect in a dry run."""
        body = requests.body()
        asked = self.guard.run(read_change, body)
        if not isinstance(body, bytes):  # to give 64 MB back to the system takes some milliseconds
            self.guard.run(body.close)
        held: list[Any] = [*asked.changes.puts]
        if not asked.dry_run:
            requests.require("POST /apply without dry_run")
        _refuse_masked(asked)
        try:
            return self._applied(asked, held)
        except WriteRefused as error:
            refusal = error.with_traceback(None)  # whose frames hold the change
        finally:
            del asked
            self.guard.run(release_gradually, held)
        try:
            raise refusal
        finally:
            del refusal  # or it and this frame would refer to each other: a cycle

    def _applied(self, asked: ChangeRequest, held: list[Any]) -> bottle.HTTPResponse:
        """Make a change, and return the response. Its parts that are not in force are added to ``held``: freeing 10,000
        documents at once would take long."""
        applied = self.guard.apply(
            asked.changes, requests.author(), requests.conditions(), requests.client(), dry_run=asked.dry_run
        )
        fields = run_long(lambda: applied_as_json(applied, dry_run=asked.dry_run))
        if asked.dry_run:
            compared = self._compared(applied, requests.client().respond_by)
            fields["answers"] = run_long(compared.as_json)
            for raw in (*applied.written.new, *applied.written.changed):
                held.append(applied.after.documents.get(raw))
        counts = ", ".join(f"{fields[name]} {name}" for name in ("new", "changed", "unchanged", "removed"))
        note_outcome(f"{fields['status']}: {counts}")
        return json_response(OK, fields, {"ETag": applied.etag})

    def _compared(self, applied: AppliedChange, respond_by: float) -> Comparison:
        """Return the answers that would change. Raises `StoreError` where that takes until the response is due."""

        def check_deadline(done: int, total: int) -> None:
            if monotonic() >= respond_by:
                reason = f"{done} of {total} answers were compared when the time was up"
                raise StoreError(
                    f"{reason}: raise SERVICE_ADMIN_TIMEOUT_SECS, or use answerd apply --dry-run on the database"
                )

        compared: Comparison = self.guard.run(compare, applied.before, applied.after, check_deadline)
        return compared

    def history(self) -> bottle.HTTPResponse:
        """Return accepted changes, the newest first."""
        wanted = _filter(requests.query())
        found: list[HistoryEntry] = self.guard.run(self.store.history, wanted)
        note_outcome(f"{len(found)} changes")
        labels = self.guard.follower.loader.catalogue.columns
        entries = run_long(lambda: [entry_as_json(entry, labels) for entry in found])
        return json_response(OK, {"history": entries})

    def restore(self, revision: str) -> bottle.HTTPResponse:
        """Restore the state of a document after a change: its text, or its absence."""
        if not revision.isascii() or not revision.isdigit() or len(revision) > 18:  # noqa: PLR2004 - of a 64-bit number
            raise InvalidRequest("a revision is a number")
        found: list[HistoryEntry] = self.guard.run(self.store.history, HistoryFilter(revision=int(revision)))
        if not found:
            raise NotThere(f"there is no change {int(revision)} in the history")
        restored = restore_document(self.guard, found[0], requests.author(), requests.conditions(), requests.client())
        note_outcome(f"restored {restored.key} of revision {int(revision)}")
        return json_response(OK, {"status": "restored", "problems": [*restored.problems]}, {"ETag": restored.etag})


def _refuse_masked(asked: ChangeRequest) -> None:
    for raw in asked.changes.puts:
        requests.refuse_masked(raw.text, str(raw.key))


def applied_as_json(applied: AppliedChange, *, dry_run: bool) -> dict[str, Any]:
    """Return the result of a change, as the API and ``answerd apply --json`` show it."""
    written = applied.written
    new, changed = [raw.key for raw in written.new], [raw.key for raw in written.changed]
    return {
        "status": "dry run" if dry_run else "applied",
        "new": len(new),
        "changed": len(changed),
        "unchanged": len(written.unchanged),
        "removed": len(written.removed),
        "problems": [*applied.problems],
        "problems_before": [*applied.problems_before],
        "documents": {"new": _names(new), "changed": _names(changed), "removed": _names(written.removed)},
    }


def entry_as_json(entry: HistoryEntry, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return a change, as the API shows it. ``labels`` are those of inventories' columns."""
    extension = entry.key.format
    return {
        "revision": entry.revision,
        "when": entry.at,
        "who": {"name": entry.author.name, "peer": entry.author.peer},
        "note": entry.author.note,
        "kind": entry.key.kind.value,
        "identifier": entry.key.identifier,
        "format": entry.key.format,
        "before": None if entry.before is None else redacted(entry.before, extension, labels=labels),
        "after": None if entry.after is None else redacted(entry.after, extension, labels=labels),
        "diff": diff_lines(entry.key, entry.before, entry.after, labels=labels),
    }


def _names(keys: Sequence[Key]) -> list[dict[str, str]]:
    return [
        {"kind": key.kind.value, "identifier": key.identifier, "format": key.format}
        for key in sorted(keys)[:NAMED_AT_MOST]
    ]


def _filter(query: dict[str, str]) -> HistoryFilter:
    """Return the filter of the changes that a query string asks for. Raises `InvalidRequest`."""
    known = ("machine", "group", "kind", "format", "since", "before", "limit")
    unknown = sorted(query.keys() - set(known))
    if unknown:
        raise InvalidRequest(f'unknown parameter "{unknown[0]}": it is one of {", ".join(known)}')
    kind = _kind(query["kind"]) if "kind" in query else None
    named = [label for label in ("machine", "group") if label in query]
    if len(named) > 1 or (named and kind not in (None, Kind(named[0]))):
        raise InvalidRequest("machine, group and kind contradict each other")
    try:
        since = beginning(query["since"]) if "since" in query else None
    except ValueError:
        raise InvalidRequest("since is no time of UTC, such as 2026-11-21 or 2026-11-21T09:14:00Z") from None
    extension = query["format"].lower() if "format" in query else None
    if extension not in (None, INVENTORY_FORMAT, *FORMATS):
        raise InvalidRequest(f"format is none of {', '.join((*FORMATS, INVENTORY_FORMAT))}")
    return HistoryFilter(
        kind=Kind(named[0]) if named else kind,
        identifier=query[named[0]] if named else None,
        format=extension,
        since=since,
        before=requests.number(query, "before"),
        limit=min(requests.number(query, "limit") or HISTORY_LIMIT, MOST_HISTORY),
        most_bytes=HISTORY_BYTES,
    )


def _kind(word: str) -> Kind:
    try:
        return Kind(word)
    except ValueError:
        raise InvalidRequest(f"kind is none of {', '.join(sorted(kind.value for kind in Kind))}") from None

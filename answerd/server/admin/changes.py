"""Many changes as one, and the history of changes.

Rules: docs/admin-api.md#apply, docs/admin-api.md#history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import bottle

from answerd.answers.catalogue import Catalogue
from answerd.answers.diff import compare
from answerd.answers.operator_names import NO_STATES, asks_for_states
from answerd.answers.sources import Sources
from answerd.audit import AuditFilter, audit_log
from answerd.check.refusals import refusals
from answerd.documents import Key, RawDocument
from answerd.etags import UNCONDITIONAL, Conditions
from answerd.formats import FORMATS
from answerd.formats.json import syntax_error
from answerd.identity import IDENTIFIER_LENGTH, Kind
from answerd.installs.records import InstallMemory
from answerd.installs.states import Rules
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.inventory import INVENTORY_FORMATS
from answerd.machine_history import Happened, happened_as_json, machine_history, names_of_machine
from answerd.server.admin import requests
from answerd.server.admin.requests import (
    DEFAULT_FORMAT,
    DOCUMENT_LIMIT,
    INVENTORY_LIMIT,
    InvalidRequest,
    NotThere,
    Route,
    json_response,
    note_outcome,
)
from answerd.server.document_writes import DocumentWrites
from answerd.server.live_states import LiveStates
from answerd.server.roles import may
from answerd.server.statuses import OK
from answerd.server.threads import in_thread
from answerd.store import HistoryEntry, HistoryFilter, StoreError
from answerd.store.history import beginning
from answerd.store.tables import key_fault
from answerd.write_guard import (
    FOR_A_LATE_DRY_RUN,
    AppliedChange,
    ChangeSet,
    RefusedByInstallers,
    Times,
    restore_document,
)

NAMED_AT_MOST = 1_000
"""Documents of each sort that a response names."""

HISTORY_LIMIT = 100
"""Changes in a response where the request names no limit."""

MOST_HISTORY = 1_000
"""Changes in a response at most: each may hold two documents."""

HISTORY_BYTES = 4_194_304
"""Bytes of the texts in a response; the first change is always there."""


BODY_LIMIT = 67_108_864
"""Bytes of a body: 64 MB."""

DRY_RUN_LIMIT = 16_777_216
"""Bytes of a body of a role that may only try a change: 16 MB."""

MOST_DOCUMENTS = 200_000
"""Documents of a change. Each takes some 1.8 KB of memory beside its text."""

DIFF_CHARACTERS = 4_194_304
"""Characters of all diffs in the response to a dry run; of the changes after these only the numbers of lines are
there."""

_ARRAYS = ("put", "delete")
_FLAGS = ("prune", "prune_inventories", "dry_run", "strict")
_HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")


class ChangeHandlers:
    def __init__(self, writes: DocumentWrites, sources: Sources, installs: LiveStates | None) -> None:
        """``sources`` fill the answers of a strict change. ``installs`` are the states of installs, None where there is
        no place for them."""
        self._installs = installs
        self.writes = writes
        self.sources = sources
        self.store = writes.store

    def routes(self) -> Iterable[Route]:
        yield Route(
            "POST", "/apply", self.apply, body_limit=BODY_LIMIT, what="a change", limit_below_admin=DRY_RUN_LIMIT
        )
        yield Route("GET", "/history", self.history)
        yield Route("GET", "/audit", self.audit)
        yield Route("POST", "/history/<revision>/restore", self.restore)
        yield Route("POST", "/history/<revision>/take-back", self.take_back)

    def apply(self) -> bottle.HTTPResponse:
        """Make a change of many documents, or return its effect in a dry run."""
        if requests.query():
            raise InvalidRequest(f"POST /apply takes no parameters: {', '.join(_FLAGS)} are fields of the body")
        if not may(requests.role(), "POST /apply without dry_run"):
            with self.writes.dry_run(requests.times().begin_by):
                return self._applied()
        return self._applied()

    def _applied(self) -> bottle.HTTPResponse:
        changes, flags = in_thread(read_change, requests.body())
        dry_run, strict = "dry_run" in flags, "strict" in flags
        author, conditions, times = requests.author(), requests.conditions(), requests.times()
        if not dry_run:
            requests.require("POST /apply without dry_run")
        in_thread(_refuse_masked, changes.puts)
        if dry_run:
            applied, fields = tried(self.writes, self.sources, changes, conditions, times, strict=strict)
        else:
            if strict:
                judge_strictly(self.writes, self.sources, changes, times, conditions)
            applied = self.writes.make(times, self.writes.guard.apply, changes, author, conditions)
            fields = in_thread(partial(applied_as_json, applied, dry_run=False))
            if self._installs is not None and not self._installs.current().changes and asks_for_states(applied.after):
                fields["warnings"] = [NO_STATES]  # a new service: another place may have them
        counts = ", ".join(f"{fields[name]} {name}" for name in ("new", "changed", "unchanged", "removed"))
        note_outcome(f"{fields['status']}: {counts}")
        return json_response(OK, fields, {"ETag": applied.etag})

    def history(self) -> bottle.HTTPResponse:
        wanted = _filter(requests.query("machine", "group", "kind", "format", "since", "before", "limit"))
        catalogue = self.writes.follower.current()

        def found() -> list[dict[str, Any]]:
            return [happened_as_json(one, catalogue.columns) for one in self._happened(wanted, catalogue)]

        entries = in_thread(found)
        note_outcome(f"{len(entries)} changes")
        return json_response(OK, {"history": entries})

    def _happened(self, wanted: HistoryFilter, catalogue: Catalogue) -> list[Happened]:
        """Return what a filter lets through: of a machine also the changes of its row, and its orders."""
        if wanted.kind is not Kind.MACHINE or wanted.identifier is None:
            return [Happened(entry.at, entry) for entry in self.store.history(wanted)]
        memory = self._memory()
        names = names_of_machine(catalogue, memory, wanted.identifier)
        events = self._installs.store.history(names, memory.beside(names)) if self._installs is not None else []
        return machine_history(self.store, wanted, names, events, catalogue)

    def audit(self) -> bottle.HTTPResponse:
        """Return who did what, the newest first."""
        query = requests.query("machine", "who", "since", "until", "limit")
        limit = min(requests.number(query, "limit") or HISTORY_LIMIT, MOST_HISTORY)
        wanted = AuditFilter(
            query.get("machine"), query.get("who"), _time(query, "since"), _time(query, "until"), limit
        )  # fmt: skip
        catalogue, memory = self.writes.follower.current(), self._memory()
        states = self._installs.store if self._installs is not None else None
        found = in_thread(audit_log, wanted, self.store, states, catalogue, memory)
        note_outcome(f"{len(found)} entries")
        return json_response(OK, {"audit": found})

    def _memory(self) -> InstallMemory:
        return self._installs.current() if self._installs is not None else InstallMemory(Rules())

    def take_back(self, revision: str) -> bottle.HTTPResponse:
        """Make all documents of a change what they were before it, or return what that would do."""
        requests.query("dry_run")
        is_dry_run = requests.is_dry_run()
        made = self._entries(HistoryFilter(together=_revision(revision)), revision)
        author, conditions, times, guard = requests.author(), requests.conditions(), requests.times(), self.writes.guard
        if is_dry_run:
            with self.writes.dry_run(times.begin_by):
                applied: AppliedChange = in_thread(guard.take_back_tried, made, conditions, times)
        else:
            applied = self.writes.make(times, guard.take_back, made, author, conditions)
        fields = in_thread(partial(applied_as_json, applied, dry_run=is_dry_run))
        note_outcome(f"{fields['status']}: revision {made[0].revision} taken back, {len(made)} documents")
        return json_response(OK, fields, {"ETag": applied.etag})

    def _entries(self, wanted: HistoryFilter, revision: str) -> list[HistoryEntry]:
        found: list[HistoryEntry] = in_thread(self.store.history, wanted)
        if not found:
            raise NotThere(f"there is no change {int(revision)} in the history")
        return found

    def restore(self, revision: str) -> bottle.HTTPResponse:
        found = self._entries(HistoryFilter(revision=_revision(revision)), revision)
        author, conditions = requests.author(), requests.conditions()
        restored = self.writes.make(requests.times(), restore_document, self.writes.guard, found[0], author, conditions)
        note_outcome(f"restored {restored.key} of revision {int(revision)}")
        status = "restored" if restored.is_new else "unchanged"
        value: dict[str, Any] = {"status": status, "problems": [*restored.problems]}
        if restored.machines:
            value["machines"] = restored.machines
        return json_response(OK, value, {"ETag": restored.etag})


def _revision(text: str) -> int:
    """Return the number in a path. Raises `InvalidRequest`."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:  # noqa: PLR2004 - of a 64-bit number
        raise InvalidRequest("a revision is a number")
    return int(text)


def tried(
    writes: DocumentWrites,
    sources: Sources,
    changes: ChangeSet,
    conditions: Conditions,
    times: Times,
    *,
    strict: bool,
) -> tuple[AppliedChange, dict[str, Any]]:
    """Return what a change would be, and as JSON, with the answers that would change. ``conditions`` are about the set.
    Raises `StoreError` where that takes until the response is due, and as `judge_strictly` does."""

    def made() -> tuple[AppliedChange, dict[str, Any]]:
        applied = writes.guard.tried(changes, conditions, times)
        if strict:
            _refuse_strictly(applied, sources, times)
        fields = applied_as_json(applied, dry_run=True)
        in_time = partial(refuse_late, times=times)
        fields["answers"] = compare(
            applied.before, applied.after, in_time, most=DIFF_CHARACTERS, words=applied.words()
        ).as_json()
        return applied, fields

    with writes.dry_run(times.begin_by):
        found: tuple[AppliedChange, dict[str, Any]] = in_thread(made)
        return found


def judge_strictly(
    writes: DocumentWrites,
    sources: Sources,
    changes: ChangeSet,
    times: Times,
    conditions: Conditions = UNCONDITIONAL,
) -> None:
    """Try a change, and raise `RefusedByInstallers` where installers would refuse answers that it makes. Raises as
    `WriteGuard.tried` does. No write waits for it, so what others write meanwhile is not judged with it."""

    def judge() -> None:
        _refuse_strictly(writes.guard.tried(changes, conditions, times), sources, times)

    with writes.dry_run(times.begin_by):
        in_thread(judge)


def _refuse_strictly(tried: AppliedChange, sources: Sources, times: Times) -> None:
    in_time = partial(refuse_late, times=times)
    found = refusals(tried.before, tried.after, sources, in_time, words=tried.words())
    if found:
        raise RefusedByInstallers([*map(str, found)])


def refuse_late(done: int, total: int, times: Times) -> None:
    """Raise `StoreError` where the time of a dry run is up, of whose answers so many are compared."""
    if times.seconds_left() <= 0:
        reason = f"{done} of {total} answers were compared when the time was up"
        raise StoreError(f"{reason}: {FOR_A_LATE_DRY_RUN}")


def applied_as_json(applied: AppliedChange, *, dry_run: bool) -> dict[str, Any]:
    """Return the result of a change, as the API and ``answerd apply --json`` show it."""
    written = applied.written
    new, changed = [raw.key for raw in written.new], [raw.key for raw in written.changed]
    machines = applied.machines()
    return {
        "status": "dry run" if dry_run else "applied",
        "new": len(new),
        "changed": len(changed),
        "unchanged": len(written.unchanged),
        "removed": len(written.removed),
        "problems": [*applied.problems],
        "problems_before": [*applied.problems_before],
        "documents": {"new": _names(new), "changed": _names(changed), "removed": _names(written.removed)},
        **({"machines": machines} if machines else {}),
    }


def _names(keys: Sequence[Key]) -> list[dict[str, str]]:
    return [
        {"kind": key.kind.value, "identifier": key.identifier, "format": key.format}
        for key in sorted(keys)[:NAMED_AT_MOST]
    ]


def _filter(query: dict[str, str]) -> HistoryFilter:
    """Return the filter of the changes that a query string asks for. Raises `InvalidRequest`."""
    kind = _kind(query["kind"], "kind") if "kind" in query else None
    named = [label for label in ("machine", "group") if label in query]
    if len(named) > 1 or (named and kind not in (None, Kind(named[0]))):
        raise InvalidRequest("machine, group and kind contradict each other")
    since = _time(query, "since")
    extension = query["format"].lower() if "format" in query else None
    if extension not in (None, *INVENTORY_FORMATS, *FORMATS):
        raise InvalidRequest(f"format is none of {', '.join((*FORMATS, *INVENTORY_FORMATS))}")
    return HistoryFilter(
        kind=Kind(named[0]) if named else kind,
        identifier=query[named[0]] if named else None,
        format=extension,
        since=since,
        before=requests.number(query, "before"),
        limit=min(requests.number(query, "limit") or HISTORY_LIMIT, MOST_HISTORY),
        most_bytes=HISTORY_BYTES,
    )


def _time(query: dict[str, str], name: str) -> str | None:
    """Return a parameter that is a time; None where it is not given. Raises `InvalidRequest`."""
    try:
        return beginning(query[name]) if name in query else None
    except ValueError:
        raise InvalidRequest(f"{name} is no time of UTC, such as 2026-11-21 or 2026-11-21T09:14:00Z") from None


def _kind(word: str, what: str) -> Kind:
    try:
        return Kind(word)
    except ValueError:
        raise InvalidRequest(f"{what} is none of {', '.join(sorted(kind.value for kind in Kind))}") from None


def read_change(body: bytes) -> tuple[ChangeSet, frozenset[str]]:
    """Return the change that a body asks for, and which of `_FLAGS` it sets. Raises `InvalidRequest`."""
    fields = _parsed(body)
    if not isinstance(fields, dict):
        raise InvalidRequest("the body is no JSON object")
    if not fields.keys() <= {*_ARRAYS, *_FLAGS}:
        raise InvalidRequest(f"the body has an unknown key: it may have {', '.join((*_ARRAYS, *_FLAGS))}")
    documents: dict[str, list[RawDocument]] = {}
    for name in _ARRAYS:
        elements = fields.get(name, [])
        if not isinstance(elements, list) or not all(isinstance(element, dict) for element in elements):
            raise InvalidRequest(f'"{name}" is no list of objects')
        elements.reverse()
        # Each is dropped once it was read: together they take more memory than the documents.
        documents[name] = [_document(name, f"{name}[{at}]", elements.pop()) for at in range(len(elements))]
    for name in _FLAGS:
        if not isinstance(fields.get(name, False), bool):
            raise InvalidRequest(f'"{name}" is neither true nor false')
    if len(documents["put"]) + len(documents["delete"]) > MOST_DOCUMENTS:
        raise InvalidRequest(f"a change has at most {MOST_DOCUMENTS:,} documents: make it in parts")
    deletes = tuple(raw.key for raw in documents["delete"])
    flags = frozenset(name for name in _FLAGS if fields.get(name, False))
    if "prune_inventories" in flags and "prune" not in flags:
        raise InvalidRequest('"prune_inventories" is for "prune"')
    return ChangeSet(tuple(documents["put"]), deletes, "prune" in flags, "prune_inventories" in flags), flags


def _refuse_masked(documents: Iterable[RawDocument]) -> None:
    for raw in documents:
        requests.refuse_masked(raw.text, str(raw.key))


_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{,]', re.DOTALL)
_MOST_PIECES = 8 * MOST_DOCUMENTS
"""Values of a body: a document has four, and is one."""


def _refuse_many(text: str) -> None:
    """Raise `InvalidRequest` where a text of JSON has more values than a change has: each takes up to a hundred bytes
    of memory, and a body of 64 MB may have thirty million."""
    if sum(map(text.count, "[{,")) <= _MOST_PIECES:
        return
    pieces = 0
    for found in _STRUCTURE.finditer(text):
        pieces += found[0] in "[{,"
        if pieces > _MOST_PIECES:
            raise InvalidRequest(f"a change has at most {MOST_DOCUMENTS:,} documents: make it in parts")


def _parsed(body: bytes) -> Any:
    """Return the value of a body. The standard library's parser is the one that says when a key is there twice."""
    try:
        text = str(body, "utf-8")
        _refuse_many(text)
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the body is no JSON: byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError:
        raise InvalidRequest(f"the body is no JSON: {syntax_error(text)}") from None
    except (RecursionError, ValueError):  # an integer of thousands of digits
        raise InvalidRequest("the body is nested deeper than a change is, or a number in it is too long") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidRequest("an object of the body has a key twice")
    return found


def _refuse_constant(name: str) -> Any:
    raise InvalidRequest(f"the body is no JSON: {name} is no value of JSON")


def _document(array: str, place: str, fields: dict[str, Any]) -> RawDocument:
    """Return the document that an element describes; of a deletion without a text. Raises `InvalidRequest`."""
    known = ("kind", "identifier", "format", *(("text",) if array == "put" else ()))
    if not fields.keys() <= {*known}:
        raise InvalidRequest(f"{place} has an unknown key: it may have {', '.join(known)}")
    for name, value in fields.items():
        if not isinstance(value, str):
            raise InvalidRequest(f'"{name}" of {place} is no text')
        if _HALF_OF_A_PAIR.search(value):
            raise InvalidRequest(f'"{name}" of {place} holds half of a surrogate pair')
    if array == "put" and "text" not in fields:
        raise InvalidRequest(f"{place} has no text")
    text = fields.get("text", "")
    kind = _kind(fields.get("kind", ""), f"the kind of {place}")
    extension = fields.get("format", INVENTORY_FORMAT if kind is Kind.INVENTORY else DEFAULT_FORMAT).lower()
    formats = INVENTORY_FORMATS if kind is Kind.INVENTORY else tuple(FORMATS)
    if extension not in formats:
        raise InvalidRequest(f"the format of {place} is none of {', '.join(formats)}")
    identifier = fields.get("identifier", "")
    if len(identifier) > IDENTIFIER_LENGTH:
        raise InvalidRequest(f"the identifier of {place} has more than {IDENTIFIER_LENGTH} characters")
    key = Key(kind, identifier, extension)
    if fault := key_fault(key):
        raise InvalidRequest(f"{place}, {key}: {fault}")
    limit = INVENTORY_LIMIT if extension == INVENTORY_FORMAT else DOCUMENT_LIMIT
    if len(text.encode()) > limit:
        raise InvalidRequest(f"{place}, {key}, has more than {limit} bytes")
    return RawDocument(key, text)

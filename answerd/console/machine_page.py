"""The page of one machine: what happened to it and why, who it is, its answers, and its recorded requests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from answerd import captures
from answerd.answers.catalogue import Catalogue
from answerd.answers.claims import claims_of
from answerd.answers.redaction import redacted_install, redacted_row
from answerd.captures import CaptureError
from answerd.console.answers import Resolver
from answerd.console.backend import Backend
from answerd.console.inventories import format_asked_for
from answerd.console.machines import MachinesPages
from answerd.console.page_request import PageReply, PageRequest, number_in, redirect
from answerd.console.rendering import link, page
from answerd.documents import Key
from answerd.errors import AnswerError
from answerd.facts import Facts, facts_of
from answerd.identity import identity_of
from answerd.inventory.row import IDENTITY_COLUMNS, Row
from answerd.long_work import run_long
from answerd.server.threads import in_thread

RECORDINGS_SHOWN = 20
FAILED = ("failed", "exhausted")


class MachinePage:
    """The page of a machine."""

    def __init__(self, backend: Backend, machines: MachinesPages) -> None:
        self._backend = backend
        self._machines = machines

    def show(self, request: PageRequest) -> PageReply:
        """Return everything about one machine; nothing where a page that follows has what would be in it."""
        name, backend = request.get("id"), self._backend
        if not name:
            return redirect("/console/machines")
        catalogue, show_secrets = backend.catalogue(), request.get("secrets") == "1" and request.sees_secrets
        record = backend.installs.record(name) if backend.installs else None
        visitor = backend.installs.unknown(name) if backend.installs and record is None else None
        if record and not show_secrets:
            said = record
            record = run_long(lambda: redacted_install(said, catalogue, backend.sources))
        contact = backend.installs.contact(name) if backend.installs else None
        events = record["events"] if record else ()
        state = _digest(record, visitor, contact)
        if request.wants_fragment and request.get("state") == state:
            return PageReply(b"", 204)
        facts = facts_of([name])
        answering = Resolver(catalogue, backend.sources, show_secrets=show_secrets)
        answers = answering.in_each_format(facts)
        chosen = next((answer for answer in answers if answer.format == request.get("answer")), None)
        chosen = chosen or next(iter(answers), None)
        page_number = number_in(request.get("page")) or 1
        row = _row_of(catalogue, facts, show_secrets=show_secrets)
        documents = list(_documents_of(catalogue, name, row))
        identities = {identity_of(name), *facts.identities, *(row.identities if row is not None else ())}
        is_known = bool(record or contact or visitor or row or documents or answers)
        body = page(
            "machine",
            request=request,
            name=name,
            where=link(
                "/console/machine",
                id=name,
                answer=request.get("answer"),
                page=request.get("page"),
                secrets="1" if show_secrets else "",
            ),
            state=state,
            identities=sorted(identities),
            row=row,
            documents=documents,
            record=record,
            failure=_failure(record) if record and record["state"] in FAILED else None,
            has_states=backend.installs is not None,
            events=events,
            visitor=visitor,
            contact=contact,
            facts=[(label, ", ".join(values)) for label, values in visitor["facts"].items()] if visitor else (),
            asked=format_asked_for(visitor["facts"]) if visitor else "",
            tries=_try_again(visitor["facts"]) if visitor else "",
            answers=answers,
            chosen=answering.laid_out(chosen, facts, page_number) if chosen else None,
            steps=answering.steps(facts, chosen.format if chosen else ""),
            has_recordings=backend.captures is not None,
            recorded=in_thread(_recorded, backend.captures, name) if request.get("recordings") == "1" else None,
            writable=backend.editing is not None,
            show_secrets=show_secrets,
            is_known=is_known,
            done=self._machines.done(request),
            notice=request.get("done"),
        )
        return PageReply(body, 200 if is_known else 404)


class Recorded(NamedTuple):
    """A recorded request. ``time`` is UTC in ISO 8601, ``name`` that of its file."""

    time: str
    name: str
    request_line: str
    outcome: str


def _recorded(directory: Path | None, name: str) -> Sequence[Recorded]:
    """Return the recorded requests that carry a name of a machine, the latest first."""
    if directory is None:
        return ()
    identity = identity_of(name)
    try:
        read = [_read(directory / file) for file in os.listdir(directory) if file.endswith(".meta")]
    except OSError:
        return ()
    found = [one[0] for one in read if one is not None and identity in one[1]]
    return sorted(found, reverse=True)[:RECORDINGS_SHOWN]


@lru_cache(maxsize=2 * captures.MOST_CAPTURES)  # those that are gone are among the kept for a while
def _read(path: Path) -> tuple[Recorded, frozenset[str]] | None:
    """Return a recorded request and its identities; None for a file that is none. To read all takes seconds the first
    time, and no file changes after it was written."""
    try:
        capture = captures.read(path)
        identities = frozenset(Facts(capture.request).identities)
    except CaptureError:
        return None
    return Recorded(capture.time, path.name, capture.request_line, capture.outcome), identities


@dataclass(frozen=True, slots=True)
class RowShown:
    """A machine's row. ``place`` is where it is, or the reason why it is not known which row the machine has.
    ``inventory`` and ``line`` lead to it; empty and 0 then."""

    place: str
    cells: Sequence[tuple[str, str]] = ()
    identities: Sequence[str] = ()
    documents: Sequence[Key] = ()
    inventory: str = ""
    line: int = 0


def _digest(*told: Mapping[str, Any] | None) -> str:
    """Return what tells whether anything has happened to a machine."""
    return sha256(dumps(told, default=str).encode()).hexdigest()[:16]


def _failure(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the report of a failure: when, why, and the log that came with it."""
    reports = [event for event in record["events"] if event["event"] in FAILED]
    report = next((event for event in reports if event["counts"]), None) or next(iter(reports), None)
    log = next((event["body"] for event in reports if event["body"]), "")
    at = report["at"] if report else record["since"]
    return {"at": at, "why": record["message"] or (report["detail"] if report else ""), "log": log}


def _try_again(facts: Mapping[str, Sequence[str]]) -> str:
    """Return the address at which the request of a machine can be tried again."""
    names = [(label, value) for label in IDENTITY_COLUMNS for value in facts.get(label, ())]
    path = "/" + "".join(facts.get("path", ())[:1])
    return f"/console/try?{urlencode({'path': path, 'query': urlencode(names, errors='replace')}, errors='replace')}"


def _documents_of(catalogue: Catalogue, name: str, row: RowShown | None) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, identifier, format and name of the documents that claim a machine by its name or its row."""
    identity = identity_of(name)
    how_found = {document.key: "" for document in catalogue.machines.get(identity, ())}
    for claim in (*catalogue.members.get(identity, ()), *catalogue.overlay_members.get(identity, ())):
        how_found.setdefault(claim.document.key, ", as a member")
    for key in row.documents if row is not None else ():
        how_found.setdefault(key, ", by its row")
    for key, how in how_found.items():
        yield key.kind.value, key.identifier, key.format, f"{key}{how}"


def _row_of(catalogue: Catalogue, facts: Facts, *, show_secrets: bool) -> RowShown | None:
    """Return a machine's row in an inventory; None where it has none."""
    if catalogue.inventory is None:
        return None
    try:
        row = catalogue.inventory.facts(facts).row
        if row is None:
            return None
        claims = claims_of(catalogue, row)
        keys = [document.key for document in (*claims.machines, *claims.groups)]
    except AnswerError as error:
        return RowShown(error.reason)
    place = catalogue.inventory.place(row)
    cells = row.by_column() if show_secrets else redacted_row(row.by_column(), catalogue.columns)
    return RowShown(place, [*cells.items()], [*row.identities()], keys, *_place_of_row(catalogue, row))


def _place_of_row(catalogue: Catalogue, row: Row) -> tuple[str, int]:
    """Return the name of the inventory that a row is in, and its line; empty and 0 where it is in none any more."""
    for raw, table in catalogue.inventory.tables.items() if catalogue.inventory is not None else ():
        if table.layout is row.layout:
            return raw.key.identifier, table.line_of(row) or 0
    return "", 0

"""The page of one machine: what happened to it and why, who it is, its answers, and its recorded requests."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from json import dumps
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from answerd import captures
from answerd.answers.answer_secrets import redacted_install
from answerd.answers.catalogue import Catalogue
from answerd.answers.claims import claims_of
from answerd.answers.last_words import Told, words_in
from answerd.answers.one_digit_off import rows_near_to_asker
from answerd.answers.secret_names import redacted_row
from answerd.answers.unclaimed import facts_said
from answerd.captures import CaptureError
from answerd.console.adopting import format_asked_for
from answerd.console.answers import Resolver, Tried
from answerd.console.backend import Backend
from answerd.console.history import changes_address
from answerd.console.machines import MachinesPages
from answerd.console.near import NearMachine, near_askers
from answerd.console.page_request import PageReply, PageRequest, number_in, redirect
from answerd.console.places import Places, row_address
from answerd.console.rendering import link, page
from answerd.console.timeline import picture, timeline_of
from answerd.console.verdict import ERRORS_FROM, Seen, verdict
from answerd.documents import Key
from answerd.errors import AnswerError
from answerd.facts import Facts, facts_of
from answerd.identity import identity_of
from answerd.inventory.row import IDENTITY_COLUMNS
from answerd.long_work import run_long
from answerd.server.threads import in_thread

_MOST_NEAR = 50
"""Machines that are counted as one digit off."""

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
        may_edit_row = backend.editing is not None and request.may_edit_rows
        known = self._known(catalogue, name, show_secrets=show_secrets)
        record, visitor, contact, row = known.record, known.visitor, known.contact, known.row
        near = self._near(catalogue, known, may_edit_row=may_edit_row)
        faults = backend.faults()
        state = _digest(record, visitor, contact, near, faults)
        if request.wants_fragment and request.get("state") == state:
            return PageReply(b"", 204)
        documents = list(_documents_of(catalogue, name, row))
        answering = Resolver(catalogue, backend.sources, show_secrets=show_secrets)
        answers = _in_order(answering, known, documents)
        chosen = next((answer for answer in answers if answer.format == request.get("answer")), None)
        chosen = chosen or next(iter(answers), None)
        is_known = bool(record or contact or visitor or row or documents or answers)
        said = None
        if is_known and backend.installs is not None:
            row_address = _row_address(catalogue, known.identities, may_edit=may_edit_row)
            seen = _seen(known, near, answering, row_address, is_claimed=bool(answers))
            seen = replace(seen, faults=faults)
            if backend.editing is not None and (row or documents):
                seen = replace(seen, changes_address=changes_address(name))
            said = verdict(seen, Places(catalogue))
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
            verdict=said,
            asked_at=contact["at"] if contact is not None and known.asked is not None else None,
            identities=sorted(known.identities),
            row=row,
            documents=documents,
            record=record,
            line=timeline_of(record, contact, time.time()) if record else None,
            picture=picture,
            failure=_failure(record) if record and record["state"] in FAILED else None,
            has_states=backend.installs is not None,
            events=record["events"] if record else (),
            visitor=visitor,
            contact=contact,
            facts=[(label, ", ".join(values)) for label, values in visitor["facts"].items()] if visitor else (),
            tries=_try_again(visitor["facts"]) if visitor else "",
            answers=answers,
            chosen=answering.laid_out(chosen, known.facts, number_in(request.get("page")) or 1) if chosen else None,
            steps=answering.steps(known.facts, chosen.format if chosen else ""),
            has_recordings=backend.captures is not None,
            recorded=in_thread(_recorded, backend.captures, known.identities)
            if request.get("recordings") == "1"
            else None,
            writable=backend.editing is not None,
            changes_address=changes_address(name),
            show_secrets=show_secrets,
            is_known=is_known,
            faults=faults,
            done=self._machines.done(request),
            notice=request.get("done"),
        )
        return PageReply(body, 200 if is_known else 404)

    def _known(self, catalogue: Catalogue, name: str, *, show_secrets: bool) -> _Known:
        installs, sources = self._backend.installs, self._backend.sources
        record = installs.record(name) if installs else None
        visitor = installs.unknown(name) if installs and record is None else None
        contact = installs.contact(name) if installs else None
        told = words_in(contact["labels"]) if contact is not None else ()
        own = facts_of([name])
        row = _row_of(catalogue, own, told, show_secrets=show_secrets)
        identities = {identity_of(name), *own.identities, *(row.identities if row is not None else ())}
        if record:
            whole = record
            identities |= {*map(identity_of, record["identities"])}
            record = whole if show_secrets else run_long(lambda: redacted_install(whole, catalogue, sources))
        asked = _asked(name, contact)
        return _Known(name, record, visitor, contact, asked, asked or facts_of([name], told), row, identities)

    def _near(self, catalogue: Catalogue, known: _Known, *, may_edit_row: bool) -> Sequence[NearMachine]:
        """Return the machines that are one digit off: for one that never asked those that ask without a row, and for
        one that asked without a row the rows of which none asked."""
        installs, contact = self._backend.installs, known.contact
        if installs is None:
            return ()
        if known.visitor is not None:
            without_row = facts_said(known.visitor["facts"], "", (known.visitor["machine"],))
        elif contact is None:
            if (known.record or {}).get("heard"):
                return ()
            own, sightings, contacts = sorted(known.identities), installs.sightings(), installs.contacts()
            return run_long(lambda: [*islice(near_askers(catalogue, own, sightings, contacts), _MOST_NEAR)])
        elif known.row is None and known.asked is not None and (contact["status"] >= ERRORS_FROM or contact["refused"]):
            without_row = known.asked
        else:
            return ()
        rows = run_long(lambda: [*rows_near_to_asker(catalogue, without_row)])
        found = (
            NearMachine(own, other, row.name, row_address(catalogue, row, edits=may_edit_row))
            for own, other, row in rows
            if installs.contact(row.name) is None and not (installs.record(row.name) or {}).get("heard")
        )
        return [*islice(found, _MOST_NEAR)]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a machine: its record, or itself among those that nothing claims, and its last contact, as JSON;
    None where there is none. ``asked`` is its last request, None where that is not known; ``facts`` are those of its
    answers."""

    name: str
    record: Mapping[str, Any] | None
    visitor: Mapping[str, Any] | None
    contact: Mapping[str, Any] | None
    asked: Facts | None
    facts: Facts
    row: RowShown | None
    identities: Set[str]


def _seen(
    known: _Known, near: Sequence[NearMachine], answering: Resolver, row_address: str, *, is_claimed: bool
) -> Seen:
    """Return what a verdict is made of."""
    contact = known.contact
    now: Tried | None = None
    needs: Sequence[str] = ()
    if known.asked is not None and contact is not None and contact["status"] >= ERRORS_FROM and not contact["refused"]:
        now, needs = answering.outcome(known.asked)
    return Seen(
        known.name,
        known.record,
        known.visitor,
        contact,
        format_asked_for(known.visitor["facts"]) if known.visitor else "",
        None if now is None else now.answer.composition if now.answer else now.reason,
        now is not None and now.answer is not None,
        needs,
        near,
        row_address,
        is_claimed,
    )


class Recorded(NamedTuple):
    """A recorded request. ``time`` is UTC in ISO 8601, ``name`` that of its file."""

    time: str
    name: str
    request_line: str
    outcome: str


def _recorded(directory: Path | None, identities: Set[str]) -> Sequence[Recorded]:
    """Return the recorded requests that carry a name or an identity of a machine, the latest first."""
    if directory is None:
        return ()
    try:
        read = [_read(directory / file) for file in os.listdir(directory) if file.endswith(".meta")]
    except OSError:
        return ()
    found = [one[0] for one in read if one is not None and identities & one[1]]
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
    ``address`` leads there, and ``edit_address`` to its fields; both are empty then."""

    place: str
    cells: Sequence[tuple[str, str]] = ()
    identities: Sequence[str] = ()
    documents: Sequence[Key] = ()
    address: str = ""
    edit_address: str = ""


def _asked(name: str, contact: Mapping[str, Any] | None) -> Facts | None:
    """Return the facts of a machine's last request; None where none is known, or its path was cut."""
    if contact is None or contact["asked"].endswith("…"):
        return None
    return facts_said(contact["labels"], contact["asked"].removeprefix("/"), [name])


def _in_order(answering: Resolver, known: _Known, documents: Sequence[tuple[str, str, str, str]]) -> list[Tried]:
    """Return the answers in each format: first those of the documents that claim the machine, the one that it asked for
    before the others."""
    own = {extension for _, _, extension, _ in documents}
    answers, asked = answering.in_each_format(known.facts, own), known.asked
    wanted = asked.extensions if asked is not None and asked.path.word is not None else ()
    return sorted(answers, key=lambda answer: answer.format not in wanted)


def _row_address(catalogue: Catalogue, identities: Set[str], *, may_edit: bool) -> str:
    """Return the address of the fields of a machine's row, or of the row where they may not be changed; empty where it
    has none."""
    inventory = catalogue.inventory
    rows = [row for one in sorted(identities) for row in inventory.rows_of(one)] if inventory is not None else []
    return row_address(catalogue, rows[0], edits=may_edit) if rows else ""


def _digest(*told: object) -> str:
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


def _row_of(catalogue: Catalogue, facts: Facts, told: Told, *, show_secrets: bool) -> RowShown | None:
    """Return a machine's row in an inventory; None where it has none. ``told`` is what the machine last said."""
    if catalogue.inventory is None:
        return None
    try:
        row = catalogue.inventory.facts(facts).row
        if row is None:
            return None
        claims = claims_of(catalogue, row, told)
        keys = [document.key for document in (*claims.machines, *claims.groups)]
    except AnswerError as error:
        return RowShown(error.reason)
    cells = row.by_column() if show_secrets else redacted_row(row.by_column(), catalogue.columns)
    return RowShown(
        catalogue.inventory.place(row),
        [*cells.items()],
        [*row.identities()],
        keys,
        row_address(catalogue, row),
        row_address(catalogue, row, edits=True),
    )

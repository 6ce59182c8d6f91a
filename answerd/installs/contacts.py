"""The last contact of each machine: when it last asked, for what, and what it got.

Rules: docs/install-once.md#last-contact. A machine that is refused leaves no event, so only this tells that it has been
switched on. Contacts are of one service, may be lost, and decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from enum import IntEnum
from typing import Any, Final, Generic, NamedTuple, TypeVar

import orjson

from answerd.identity import identity_of
from answerd.installs.shown import timestamp
from answerd.installs.states import State

MOST_CONTACTS: Final = 20_000
"""Machines whose last contact is kept; the oldest go first."""

MOST_PENDING: Final = 2_048
"""Requests of one process that wait to be written; the oldest go first. Each holds what its machine sent."""

KEPT_SECONDS: Final = 60.0
"""How long a machine's last contact is on the disk before another one takes its place."""

OPENED_BY_ARM: Final = frozenset({State.NEW.value, State.INSTALLED.value, State.EXHAUSTED.value, State.CONFLICT.value})
"""The states in which a machine that a gate refused waits for an operator."""

_WAITING: Final = OPENED_BY_ARM - {State.INSTALLED.value}
"""Those of them in which it waits to be installed, and has not been."""

_T = TypeVar("_T")


class Held(IntEnum):
    """Whether a machine was kept from installing: a gate refused it, or in place of what it waits for a document
    answered that is for machines in its state, such as "waiting for approval"."""

    NOT = 0
    REFUSED = 1
    WAITS = 2


class Contact(NamedTuple):
    """A machine's last request. ``machine`` is how it is shown; ``identities`` are the identities of its name, its row
    and its hardware. ``asked`` is the path, ``got`` the document, or the sentence where it got none. ``labels`` is
    JSON: what the request said."""

    machine: str
    at: float
    identities: tuple[str, ...]
    asked: str
    status: int
    got: str
    held: Held
    labels: str

    def step(self, state: str) -> str:
        """Return what a machine that is in a state now did last, for a line of a table."""
        if self.held is Held.REFUSED:
            return f"refused: {self.got}"
        if self.held is Held.WAITS and state in _WAITING:
            return f"waits: {self.got}"
        return self.got if self.status < 400 else f"{self.status}: {self.got}"  # noqa: PLR2004 - the first error


class _Written(NamedTuple):
    """When a machine's last contact was written, with which outcome, and whether another outcome was since."""

    at: float
    outcome: object
    is_second: bool


class Pending(Generic[_T]):
    """What waits to be written of each machine's last request: the newest, and not within `KEPT_SECONDS` of the one
    before. One with another outcome is written at once, where that has not happened since: somebody who looks why a
    machine waits is not to see for a minute what it got before."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[_T, object]] = {}
        self._written: dict[str, _Written] = {}

    def note(self, machine: str, request: _T, outcome: object = None) -> None:
        """Keep a request for the disk. ``outcome``: what of it makes a difference to an operator."""
        self._waiting.pop(machine, None)
        if len(self._waiting) >= MOST_PENDING:
            del self._waiting[next(iter(self._waiting))]
        self._waiting[machine] = (request, outcome)

    def take(self, now: float, most: int) -> list[_T]:
        """Return at most so many that are due, the oldest first. They do not wait any more."""
        due = []
        for machine, (request, outcome) in [*self._waiting.items()]:
            written = self._written.get(machine)
            is_recent = written is not None and now - written.at < KEPT_SECONDS
            if written is not None and is_recent and (written.is_second or outcome == written.outcome):
                continue
            del self._waiting[machine]
            due.append(request)
            self._written.pop(machine, None)
            at = written.at if written is not None and is_recent else now
            self._written[machine] = _Written(at, outcome, is_recent)
            if len(due) == most:
                break
        while len(self._written) > MOST_CONTACTS:
            del self._written[next(iter(self._written))]
        return due


# --- shown beside records, which are as JSON (`answerd.installs.shown`) -----------------------------------------------


class ContactIndex:
    """The last contacts of machines, by their identities."""

    def __init__(self, contacts: Iterable[Contact]) -> None:
        self._newest_first = sorted(contacts, key=lambda contact: -contact.at)
        self._by_identity: dict[str, Contact] = {}
        for contact in reversed(self._newest_first):
            self._by_identity.update(dict.fromkeys(contact.identities, contact))

    def __iter__(self) -> Iterator[Contact]:
        """Yield all, the newest first."""
        return iter(self._newest_first)

    def of(self, record: Mapping[str, Any]) -> Contact | None:
        """Return the newest contact of the machine of a record."""
        return self.of_machine(*_identities_of(record))

    def of_machine(self, name: str, hardware: Set[str]) -> Contact | None:
        """Return the newest contact of a machine. ``name`` and ``hardware`` are identities, and ``hardware`` has those
        that are not its name."""
        newest = None
        for one in (name, *hardware):
            contact = self._by_identity.get(one)
            if contact is None or (newest is not None and contact.at <= newest.at):
                continue
            if _is_of(contact, name, hardware):
                newest = contact
        return newest

    def shown_with(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record with the time and the step of its machine's last contact, where that is the later one or the
        only step: a refusal is heard, and is no step of an install."""
        contact = self.of(record)
        if contact is None:
            return record
        heard, at = record["heard"], timestamp(contact.at)
        if heard is not None and (heard > at or (heard == at and record["last_step"] is not None)):
            return record
        return {**record, "heard": timestamp(contact.at), "last_step": contact.step(record["state"])}

    def waiting(self, records: Iterable[dict[str, Any]], *, are_all: bool = True) -> Iterator[dict[str, Any]]:
        """Yield the records of the machines that were held and that an operator can let in, the one that asked last
        first. Where ``records`` are all that there are, a machine without one is new; else it is left out."""
        by_identity = {
            identity_of(name): record for record in records for name in (record["machine"], *record["identities"])
        }
        seen: set[str] = set()
        for contact in self._newest_first:
            is_first = seen.isdisjoint(contact.identities)
            seen.update(contact.identities)
            if contact.held is Held.NOT or not is_first:
                continue
            found = (by_identity[name] for name in contact.identities if name in by_identity)
            own = next((record for record in found if _is_of(contact, *_identities_of(record))), None)
            if own is None and not are_all:
                continue
            record = own if own is not None else new_record(contact)
            seen.update(identity_of(name) for name in (record["machine"], *record["identities"]))
            if record["state"] in OPENED_BY_ARM:
                yield self.shown_with(record)


def _identities_of(record: Mapping[str, Any]) -> tuple[str, Set[str]]:
    """Return the name and the other identities of a record, in the form in which two spellings are equal."""
    name = identity_of(record["machine"])
    return name, {identity_of(one) for one in record["identities"]} - {name}


def _is_of(contact: Contact, name: str, hardware: Set[str]) -> bool:
    """Return whether a contact that shares a name or an identity with a machine is of it. Where both have hardware the
    name alone does not count: it may be given to other hardware since."""
    said = {*contact.identities} - {name}
    return not hardware or not said or not hardware.isdisjoint(said)


def new_record(contact: Contact) -> dict[str, Any]:
    """Return the record, as JSON, of a machine that has none."""
    return {
        "machine": contact.machine,
        "state": State.NEW.value,
        "silent": False,
        "since": None,
        "heard": None,
        "last_step": None,
        "starts": 0,
        "group": None,
        "message": None,
        "percent": None,
        "identities": list(contact.identities),
    }


def contact_as_json(contact: Contact) -> dict[str, Any]:
    return {
        "at": timestamp(contact.at),
        "asked": contact.asked,
        "status": contact.status,
        "got": contact.got,
        "refused": contact.held is Held.REFUSED,
        "waits": contact.held is Held.WAITS,
        "labels": orjson.loads(contact.labels or "{}"),
    }

"""The gates of installs, asked while a request is answered: which machine asks, whether it gets the document, and its
report URL.

Rules: docs/install-once.md. Reads the states only where an answer has ``once`` or ``{{ report }}``, or a selector names
``state``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from answerd.answers.catalogue import Catalogue
from answerd.answers.select import Selection, claimed_member
from answerd.errors import CannotFill
from answerd.facts import Facts
from answerd.formats import split_extension
from answerd.formats.family import Once
from answerd.identity import (
    SHORTEST_MAC,
    identity_of,
    is_mac,
    is_shared_by_many,
    record_identity,
    without_pxelinux_prefix,
)
from answerd.installs.events import Event
from answerd.installs.loader_scripts import LOADERS
from answerd.installs.records import MOST_COLLECTED, Decision, InstallMemory, Remembered, Visitor
from answerd.installs.sentences import script, sentence
from answerd.installs.states import Gate, Record, Refusal, Requested, is_repeated
from answerd.installs.tokens import TokenSubject, report_token

_BURNED_IN: Final = frozenset("014589cdCD")
"""The second digits of MAC addresses that a maker of adapters has given: the bit 2 is not set."""
_LOCALLY_ADMINISTERED: Final = frozenset("2367abefABEF")
"""Those of addresses that an operating system or a hypervisor has made up."""
_NOTHING_TO_WRITE: Final = Decision()
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?\Z")


class InstallSource(Protocol):
    """Access to the installs that the service knows."""

    @property
    def key(self) -> bytes:
        """The key of tokens. Raises `answerd.errors.StatesUnknown`."""

    def current(self) -> InstallMemory:
        """Return all records, including everything that was acknowledged before. Raises
        `answerd.errors.StatesUnknown`."""

    def now(self) -> float:
        """Return the time, in seconds. It never goes back."""

    def base_url(self, facts: Facts) -> str:
        """Return the URL by which machines reach the service: ``http://answers.example.com:8000``. Raises
        `CannotFill`."""

    def given(self, events: Sequence[Event]) -> None:
        """Have it written, before the response is sent, that a document was given, or that a start was refused. Raises
        `answerd.errors.StatesUnknown`; then it must not be given."""


class OnceRequest(NamedTuple):
    """A request of a machine for an answer with ``once``, and the decision of the states. ``found`` are the records of
    the machine, ``name`` is that of a new one."""

    name: str | None
    found: Sequence[Remembered]
    asked: Requested
    decision: Decision
    memory: InstallMemory


@dataclass(frozen=True, slots=True)
class Gates:
    source: InstallSource

    def state(self, facts: Facts) -> str:
        """Return the state of the machine that asks. Raises `answerd.errors.StatesUnknown`."""
        memory = self.source.current()
        return memory.state(_records_of(memory, facts, facts.row.name if facts.row is not None else None)).value

    def ask(
        self, catalogue: Catalogue, selection: Selection, facts: Facts, once: Once, *, without_start: bool = False
    ) -> OnceRequest:
        """Return the decision of the states about a request for an answer with ``once``.

        Raises `answerd.errors.StatesUnknown`, and `CannotFill` where nothing identifies the machine.
        """
        memory = self.source.current()
        top = selection.layers[-1].key
        gate = Gate.LOADER if once is Once.LOADER or is_loader(top.format) else Gate.ANSWERS
        asked = Requested(str(top), gate, once, self.source.now(), without_start)
        own = _own_name(selection, facts)
        known = memory.by_name.get(record_identity(own)) if own is not None else None
        if (
            known is not None
            and known.is_named
            and known.group == _group_of(selection)
            and is_repeated(known.record, asked, memory.rules)
        ):
            # Nothing to write, and what else the request says of the machine would find no other record.
            return OnceRequest(known.record.name, (known,), asked, _NOTHING_TO_WRITE, memory)
        visitor, found = _look(memory, catalogue, selection, facts, own, "once")
        decision = memory.judge(visitor, found, asked, facts.request.peer)
        if decision.refuser is not None and decision.events:
            self.source.given(decision.events)
        return OnceRequest(visitor.name, found, asked, decision, memory)

    def given(self, once_request: OnceRequest) -> None:
        """Write that the composed answer is given. Raises `answerd.errors.StatesUnknown`."""
        if once_request.decision.events:
            self.source.given(once_request.decision.events)

    def told(self, catalogue: Catalogue, selection: Selection, facts: Facts) -> None:
        """Write which machine was given its report URL by an answer without ``once``. Raises
        `answerd.errors.StatesUnknown`."""
        memory = self.source.current()
        visitor, found = _look(memory, catalogue, selection, facts, _own_name(selection, facts), "{{ report }}")
        document = str(selection.layers[-1].key)
        events = memory.told(visitor, found, self.source.now(), document, facts.request.peer)
        if events:
            self.source.given(events)

    def report(
        self, catalogue: Catalogue, selection: Selection, facts: Facts, once_request: OnceRequest | None = None
    ) -> str:
        """Return the URL by which the machine reports. Raises `CannotFill`, `answerd.errors.StatesUnknown`."""
        if once_request is not None:
            name, found, memory = once_request.name, once_request.found, once_request.memory
        else:
            memory = self.source.current()
            visitor, found = _look(memory, catalogue, selection, facts, _own_name(selection, facts), "{{ report }}")
            name = visitor.name
        base = self.source.base_url(facts)
        record = found[0].record if found else memory.new(name or "").record
        return f"{base}/report/{report_token(TokenSubject(record.name, record.attempt), self.source.key)}"


def _own_name(selection: Selection, facts: Facts) -> str | None:
    """Return the name that a row or a machine document gives the machine."""
    if facts.row is not None and (name := facts.row.name):
        return name
    return selection.machine.key.identifier if selection.machine is not None else None


def _group_of(selection: Selection) -> str | None:
    return selection.group.key.identifier if selection.group is not None else None


def _look(
    memory: InstallMemory, catalogue: Catalogue, selection: Selection, facts: Facts, own: str | None, what: str
) -> tuple[Visitor, Sequence[Remembered]]:
    """Return the machine that asks, with the identities that its record collects, and its records. ``own`` is the name
    that its row or document gives it. Raises `CannotFill` where nothing identifies it."""
    found = _records_of(memory, facts, own)
    collected = collected_identities(facts)
    name = own if own is not None else _member_name(catalogue, selection, facts)
    is_named = name is not None
    if name is None:  # an identity that many records share identifies none
        name = next((text for identity, text in collected.items() if not memory.is_shared(identity)), None)
    if name is not None:
        identity = record_identity(name)
        if identity not in collected and not is_shared_by_many(identity):
            collected = {identity: name, **collected}
    elif not found:
        raise _nameless(what, has_shared=bool(collected))
    if not found and own is None:
        found = memory.found_by([], name)
    return Visitor(name, collected, _group_of(selection), is_named), found


def _nameless(what: str, *, has_shared: bool) -> CannotFill:
    has = "its serial, uuid and mac are those of many machines" if has_shared else "it has no serial, uuid or mac"
    reason = (
        f"{what} needs to know which machine asks, and the request names none: {has}, and no machine document, row or "
        "member is its own"
    )
    return CannotFill(reason, "report", missing=True)


def is_loader(extension: str) -> bool:
    """Return whether documents of a format are a boot loader's scripts."""
    return extension in LOADERS


def refusal_sentence(once_request: OnceRequest) -> str:
    """Return why a document is refused. Raises `ValueError` where it is not refused."""
    return sentence(*_refusal(once_request))


def script_of(once_request: OnceRequest, extension: str) -> bytes:
    """Return the script that the boot loader of a format gets instead of a refused document. Raises `ValueError` where
    the document is not refused."""
    return script(*_refusal(once_request), extension)


def _refusal(once_request: OnceRequest) -> tuple[Record, Refusal]:
    decision = once_request.decision
    if decision.refuser is None or decision.refusal is None:
        raise ValueError("the document is not refused")
    return decision.refuser, decision.refusal


# --- who asks --------------------------------------------------------------------------------------------------------


def _records_of(memory: InstallMemory, facts: Facts, own: str | None) -> Sequence[Remembered]:
    """Return the records of the machine that asks. ``own`` is the name that its row or document gives it.

    The record of that name alone decides: others may have collected an identity of the machine that a stranger sent.
    Before there is one, the records that have an identity of the row decide: the machine may have installed before it
    got its row.
    """
    if own is not None:
        identity = record_identity(own)
        remembered = memory.by_name.get(identity)
        if remembered is not None:
            return (remembered,)
        if identity in memory.forgotten:
            return ()
        return memory.found_by((identity, *(facts.row.names if facts.row is not None else ())))
    held = facts.identities_held_in(memory.intersection)
    if len(held) < 2:  # noqa: PLR2004 - a single one
        return memory.found_by(held)
    if memory.is_one_record(held):
        return memory.found_by([next(iter(held))])
    return memory.found_by(facts.identities_in(memory.intersection))  # the first one that was said comes first


def _member_name(catalogue: Catalogue, selection: Selection, facts: Facts) -> str | None:
    """Return the name by which a group has the machine as a member; None where none has."""
    member = claimed_member(catalogue, selection, facts)
    if member is None or selection.group is None:
        return None
    identity, _ = member
    return selection.group.control.spelled(identity)


def collected_identities(facts: Facts) -> dict[str, str]:
    """Return the identities by which the record of a machine is found again, with their texts: serial number, UUID, and
    MAC addresses, in this order; the first `MOST_COLLECTED`. Leaves out values that many machines share and values that
    are no valid text. A MAC address in the path is the first one."""
    found: dict[str, str] = {}
    of_row = facts.row.values() if facts.row is not None else {}
    for label in ("serial", "uuid"):
        # In a JSON body those at the top or under "system": a disk, a board and a chassis have them too.
        for value in of_row.get(label) or [*facts.values_before_json(label), *facts.system_values(label)]:
            _collect(found, identity_of(value), value)
    texts = [*_macs_in_path(facts), *facts.values("mac")]
    macs = _macs(texts, _BURNED_IN) or _macs(texts, _LOCALLY_ADMINISTERED)
    if facts.row is not None:
        for identity, text in facts.row.identities().items():
            _collect(found, identity, text)
    found |= macs
    return found if len(found) <= MOST_COLLECTED else dict([*found.items()][:MOST_COLLECTED])


def _macs_in_path(facts: Facts) -> list[str]:
    """Return the MAC addresses that are a segment of the path, or one without its extension."""
    found = []
    for segment in facts.path.segments:
        if len(segment) >= SHORTEST_MAC:
            for text in (segment, split_extension(segment)[0]):
                bare = without_pxelinux_prefix(text) or text
                if is_mac(bare):
                    found.append(bare)
                    break
    return found


def _macs(texts: Iterable[str], second_digits: frozenset[str]) -> dict[str, str]:
    """Return those of some texts that are MAC addresses with one of these second digits, by their identities."""
    found: dict[str, str] = {}
    # A server with virtual functions has dozens: most are left out by their second digit. A prefix is "01-".
    first_digits = {*second_digits, "1"}
    for text in [text for text in texts if text[1:2] in first_digits]:
        bare = without_pxelinux_prefix(text) or text if text[:3] == "01-" else text
        if bare[1:2] in second_digits and is_mac(bare):
            identity = identity_of(bare)
            if not is_shared_by_many(identity):
                found.setdefault(identity, bare)
    return found


def _collect(found: dict[str, str], identity: str, text: str) -> None:
    if identity and not is_shared_by_many(identity) and text.isprintable():
        found.setdefault(identity, text)


def url_of_host(scheme: str, facts: Facts) -> str:
    """Return the URL that a request reached, from its ``Host``. Raises `CannotFill` where that is no host and port."""
    for name, value in facts.request.headers:
        if name == "host" and _HOST.match(value):
            return f"{scheme}://{value}"
    reason = "{{ report }} needs SERVICE_URL: the request has no Host that is a host and a port"
    raise CannotFill(reason, "report", missing=False)

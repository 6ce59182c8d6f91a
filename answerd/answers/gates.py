"""The gates of installs, asked while a request is answered: which machine asks, whether it gets the document, and its
report URL.

Rules: docs/install-once.md. Reads the states only where an answer has ``once`` or ``{{ report }}``, or a selector names
``state``. Knows no database and no clock: an `InstallSource` has both.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from answerd.answers.catalogue import Catalogue
from answerd.answers.members import claimed_member
from answerd.answers.select import Selection
from answerd.answers.visitors import KnownVisitor, RecentVisitors
from answerd.errors import CannotFill
from answerd.facts import Facts
from answerd.formats.family import Once
from answerd.identity import identities_of, identity_of, is_mac, is_shared_by_many, without_pxelinux_prefix
from answerd.installs.memory import Decision, InstallMemory, Remembered, Visitor
from answerd.installs.sentences import script, sentence
from answerd.installs.states import Asked, Gate, Record, Refusal, Rules, quiet_period
from answerd.installs.tokens import TokenSubject, report_token

IPXE: Final = "ipxe"
"""The format whose documents are a boot loader's."""

_BURNED_IN: Final = frozenset("014589cd")
"""The second digits of MAC addresses that a maker of adapters has given: the bit 2 is not set."""
_LOCALLY_ADMINISTERED: Final = frozenset("2367abef")
"""Those of addresses that an operating system or a hypervisor has made up."""
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?\Z")


class InstallSource(Protocol):
    """Access to the installs that the service knows."""

    @property
    def rules(self) -> Rules:
        """The limits."""

    @property
    def key(self) -> bytes:
        """The key of tokens."""

    def current(self) -> InstallMemory:
        """Return all records, including everything that was acknowledged before. Raises
        `answerd.errors.StatesUnknown`."""

    def now(self) -> float:
        """Return the time, in seconds. It never goes back."""

    def base_url(self, facts: Facts) -> str:
        """Return the URL by which machines reach the service: ``http://answers.example.com:8000``. Raises
        `CannotFill`."""

    def given(self, asking: Asking) -> None:
        """Record that a document was given, or that a start was refused. Never waits."""


class Asking(NamedTuple):
    """A request of a machine for an answer with ``once``, and the decision of the states. ``document`` names the
    answer's highest layer."""

    visitor: Visitor
    asked: Asked
    judgement: Decision
    document: str
    peer: str

    @property
    def names(self) -> list[str]:
        """Return the names of the records that this affects."""
        return [remembered.record.name for remembered, _ in self.judgement.outcomes]


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one service."""

    source: InstallSource
    recent: RecentVisitors = field(default_factory=RecentVisitors, compare=False)

    def state(self, facts: Facts) -> str:
        """Return the state of the machine that asks. Raises `answerd.errors.StatesUnknown`."""
        memory = self.source.current()
        return memory.state(_records(memory, facts)).value

    def ask(
        self, catalogue: Catalogue, selection: Selection, facts: Facts, once: Once, *, without_start: bool = False
    ) -> Asking | None:
        """Return the decision of the states about a request for an answer with ``once``; None where it is given once
        more and that is not worth a note.

        Raises `answerd.errors.StatesUnknown`, and `CannotFill` where nothing identifies the machine.
        """
        source = self.source
        memory = source.current()
        known = self._look(memory, catalogue, selection, facts)
        now = source.now()
        if known.quiet_from <= now <= known.quiet_until and not without_start:
            return None
        visitor, document, found, rules = known.visitor, known.document, known.found, source.rules
        if not found and visitor.name is None:
            raise _nameless("once", visitor)
        is_for_loader = once is Once.LOADER or selection.layers[-1].key.format == IPXE
        asked = Asked(document, Gate.LOADER if is_for_loader else Gate.ANSWERS, once, now, without_start)
        if known.brings_nothing and not without_start:
            periods = [quiet_period(remembered.record, asked, rules) for remembered in found]
            known.quiet_from = max([period[0] for period in periods])
            known.quiet_until = min([period[1] for period in periods])
            if known.quiet_from <= now <= known.quiet_until:
                return None
        asking = Asking(visitor, asked, memory.judge(visitor, found, asked, rules), document, facts.request.peer)
        judgement = asking.judgement
        if judgement.refuser is not None and judgement.outcomes:
            source.given(asking)
        return asking

    def given(self, asking: Asking) -> None:
        """Record that the answer was composed."""
        if not asking.asked.without_start and asking.judgement.outcomes:
            self.source.given(asking)

    def _look(self, memory: InstallMemory, catalogue: Catalogue, selection: Selection, facts: Facts) -> KnownVisitor:
        """Return the machine that asks, with its records."""
        recent = self.recent.find(catalogue, selection, memory, facts)
        if recent is not None:
            if recent.is_up_to_date(memory):
                return recent
            recent.note(_records(memory, facts, recent.visitor.name), memory)
            if recent.found or not _is_named_by_shared(recent.visitor, memory):
                return recent
        known = KnownVisitor(facts.statement(), selection, visitor_of(catalogue, selection, facts, memory))
        known.note(_records(memory, facts, known.visitor.name), memory)
        self.recent.keep(selection, facts, known)
        return known

    def report(self, catalogue: Catalogue, selection: Selection, facts: Facts) -> str:
        """Return the URL by which the machine reports. Raises `CannotFill`, `answerd.errors.StatesUnknown`."""
        memory = self.source.current()
        known = self._look(memory, catalogue, selection, facts)
        if not known.found and known.visitor.name is None:
            raise _nameless("{{ report }}", known.visitor)
        base = self.source.base_url(facts)
        if known.token is None:
            record = known.found[0].record if known.found else memory.new(known.visitor.name or "")
            known.token = report_token(TokenSubject(record.name, record.attempt), self.source.key)
        return f"{base}/report/{known.token}"


def _nameless(what: str, visitor: Visitor) -> CannotFill:
    has = (
        "its serial, uuid and mac are those of many machines" if visitor.identities else "it has no serial, uuid or mac"
    )
    reason = (
        f"{what} needs to know which machine asks, and the request names none: {has}, and no machine document, row or "
        "member is its own"
    )
    return CannotFill(reason, "report", missing=True)


def is_loader(extension: str) -> bool:
    """Return whether documents of a format are a boot loader's scripts."""
    return extension == IPXE


def refusal_sentence(asking: Asking) -> str:
    """Return why a document is refused. Raises `ValueError` where it is not refused."""
    return sentence(*_refusal(asking))


def script_of(asking: Asking) -> bytes:
    """Return the script that a boot loader gets instead of a refused document. Raises `ValueError` where the document
    is not refused."""
    return script(*_refusal(asking))


def _refusal(asking: Asking) -> tuple[Record, Refusal]:
    judgement = asking.judgement
    if judgement.refuser is None or judgement.refusal is None:
        raise ValueError("the document is not refused")
    return judgement.refuser, judgement.refusal


# --- who asks --------------------------------------------------------------------------------------------------------


def _records(memory: InstallMemory, facts: Facts, name: str | None = None) -> list[Remembered]:
    """Return the records of the machine that asks, and that of a name, which comes first."""
    held = facts.identities_held_in(memory.intersection)
    if len(held) < 2:  # noqa: PLR2004 - a single one
        return memory.found_by(held, name)
    if memory.is_one_record(held):
        return memory.found_by([next(iter(held))], name)
    return memory.found_by(facts.identities_in(memory.intersection), name)  # the first one that was said comes first


def visitor_of(catalogue: Catalogue, selection: Selection, facts: Facts, memory: InstallMemory) -> Visitor:
    """Return the machine that asks: the name of its record, and the identities that the record collects. An identity
    that many records share identifies none."""
    collected = collected_identities(facts)
    name = _name(catalogue, selection, facts)
    if name is None:
        name = next((text for identity, text in collected.items() if not memory.is_shared(identity)), None)
    if name is not None:
        own = identity_of(name)
        if own not in collected and not is_shared_by_many(own):
            collected = {own: name, **collected}
    group = selection.group.key.identifier if selection.group else None
    return Visitor(name, collected, group)


def _is_named_by_shared(visitor: Visitor, memory: InstallMemory) -> bool:
    """Return whether an earlier visitor was named by an identity that many records share by now."""
    return visitor.name is not None and memory.is_shared(identity_of(visitor.name))


def _name(catalogue: Catalogue, selection: Selection, facts: Facts) -> str | None:
    """Return the name that an operator gave the machine; None where there is none."""
    if facts.row is not None and facts.row.name:
        return facts.row.name
    if selection.machine is not None:
        return selection.machine.key.identifier
    member = claimed_member(catalogue, selection, facts)
    if member is None or selection.group is None:
        return None
    identity, _ = member
    return selection.group.control.spelled(identity)


def collected_identities(facts: Facts) -> dict[str, str]:
    """Return the identities by which the record of a machine is found again, with their texts: serial number, UUID, and
    MAC addresses, in this order. Leaves out values that many machines share and values that are no valid text."""
    found: dict[str, str] = {}
    for label in ("serial", "uuid"):
        for value in own_values(facts, label):
            _collect(found, identity_of(value), value)
    texts = [
        without_pxelinux_prefix(value) or value if value.startswith("01-") else value for value in facts.values("mac")
    ]
    addresses = [*zip(identities_of(texts), texts, strict=True)]
    macs = _macs(addresses, _BURNED_IN) or _macs(addresses, _LOCALLY_ADMINISTERED)
    if facts.row is not None:
        for identity, text in facts.row.identities().items():
            _collect(found, identity, text)
    return found | macs


def _macs(addresses: Iterable[tuple[str, str]], second_digits: Container[str]) -> dict[str, str]:
    """Return those of some identities, with their texts, that are MAC addresses with one of these second digits."""
    found: dict[str, str] = {}
    for identity, text in addresses:
        if identity[1:2] in second_digits and is_mac(text) and not is_shared_by_many(identity):
            found.setdefault(identity, text)
    return found


def _collect(found: dict[str, str], identity: str, text: str) -> None:
    if identity and not is_shared_by_many(identity) and text.isprintable():
        found.setdefault(identity, text)


def own_values(facts: Facts, label: str) -> list[str]:
    """Return the values of ``serial`` or ``uuid`` that identify the machine itself: in a JSON body those at the top or
    under ``system``, because a disk, a board and a chassis have them too."""
    of_row = facts.row.values().get(label) if facts.row is not None else None
    if of_row:
        return list(of_row)
    return [*facts.values_before_json(label), *facts.system_values(label)]


def url_of_host(scheme: str, facts: Facts) -> str:
    """Return the URL that a request reached, from its ``Host``. Raises `CannotFill` where that is no host and port."""
    for name, value in facts.request.headers:
        if name == "host" and _HOST.match(value):
            return f"{scheme}://{value}"
    reason = "{{ report }} needs SERVICE_URL: the request has no Host that is a host and a port"
    raise CannotFill(reason, "report", missing=False)

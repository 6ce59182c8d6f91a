"""A batch of changes of records that several nodes share, which keeps and merges their evidence.

Rules: docs/many-nodes.md#how-states-are-merged. Knows rows, of a node's own file or of the database; the meaning of
evidence is in `answerd.installs.merge`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from answerd.identity import identity_of, is_shared_by_many
from answerd.installs.evidence import evidence_as_json, evidence_from_json, evidence_of
from answerd.installs.memory import AppliedEvent, Remembered
from answerd.installs.merge import Evidence, evidence_after, merge, record_of
from answerd.installs.states import Order, Ordered, Refusal, Reported, step
from answerd.store.install_batch import Batch, HistoryLine, PendingEvent, history_line_of
from answerd.store.install_tables import StoredInstall


class MachineEvidence(NamedTuple):
    """All that is known of the machine with one name. ``evidence`` is None where it has no record; ``forgotten`` is the
    last attempt before the machine was forgotten, 0 where it never was."""

    name: str
    evidence: Evidence | None = None
    forgotten: int = 0
    identities: Mapping[str, str] = {}
    group: str | None = None


class EvidenceBatch(Batch):
    """The records of a batch. `apply` adds events that happened here, `join` the evidence of other nodes."""

    def machine(self, name: str) -> MachineEvidence:
        """Return the evidence of the machine with a name."""
        own = identity_of(name)
        stored = self._stored.get(own)
        forgotten = self._forgotten.get(own, 0)
        if stored is None:
            return MachineEvidence(name, None, forgotten)
        remembered = stored.remembered
        return MachineEvidence(
            remembered.record.name, evidence_in(stored), forgotten, remembered.identities, remembered.group
        )

    def noted(self) -> Iterator[tuple[str, HistoryLine]]:
        """Yield the new lines of the history, each with the name's identity."""
        for name, _, _, line in self._history:
            yield name, line

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not (self._dirty or self.forgotten_now)

    def join(self, other: MachineEvidence, line: HistoryLine | None = None) -> bool:
        """Merge the evidence of another node, with a line of its history. Return whether more is known here now than
        there."""
        name = identity_of(other.name)
        if other.forgotten > self._forgotten.get(name, 0):
            self._forgotten[name] = self.forgotten_now[name] = other.forgotten
        forgotten = self._forgotten.get(name, 0)
        stored = self._stored.get(name)
        mine = evidence_in(stored) if stored else None
        if mine is not None and mine.attempt <= forgotten:
            self._forget(name, forgotten)
            stored = mine = None
        if other.evidence is None or other.evidence.attempt <= forgotten:
            if stored is not None and line is not None:
                self._note(name, stored, line._replace(counts=0))
            return mine is not None or forgotten > other.forgotten
        evidence = merge(mine, other.evidence) if mine is not None else other.evidence
        before = stored.remembered if stored else None
        identities = _joined(before.identities if before else {}, other.identities)
        group = other.group or (before.group if before else None)
        is_same = before is not None and (identities, group) == (before.identities, before.group)
        if evidence != mine or line is not None or not is_same:
            record = record_of(evidence, self._rules)
            after = Remembered(record, identities, group)
            self._note(name, _stored(stored, after, evidence), line)
        return (evidence, forgotten) != (other.evidence, other.forgotten) or identities != other.identities

    def _work_in(self, entry: PendingEvent, name: str) -> None:
        stored, event = self._stored.get(name), entry.event
        before = stored.remembered if stored else None
        evidence = (evidence_in(stored) if stored else None) or Evidence(entry.name, self._forgotten.get(name, 0) + 1)
        is_late = isinstance(event, Reported) and event.attempt < evidence.attempt
        present = evidence
        if isinstance(event, Reported) and event.attempt > evidence.attempt:
            present = Evidence(evidence.name, event.attempt, heard=evidence.heard)  # it was armed at another node
        outcome = step(record_of(present, self._rules), event, self._rules)
        if isinstance(event, Ordered) and event.order is Order.FORGET:
            self.applied.append(AppliedEvent(None, outcome))
            if stored is not None:
                self._forget(name, evidence.attempt)
            return
        if is_late or (entry.was_refused and outcome.refusal is not Refusal.EXHAUSTED):
            self.applied.append(AppliedEvent(before, outcome))
            if is_late and stored is not None:
                self._note(name, stored, history_line_of(entry, counts=False))
            return
        evidence = evidence_after(evidence, event, self._rules)
        own = {} if before or is_shared_by_many(name) else {name: entry.name}
        identities = _joined({**own, **(before.identities if before else {})}, entry.identities)
        group = entry.group or (before.group if before else None)
        after = Remembered(record_of(evidence, self._rules), identities, group)
        self.applied.append(AppliedEvent(after, outcome))
        self._note(
            name, _stored(stored, after, evidence), None if entry.is_copy else history_line_of(entry, outcome.counts)
        )


def evidence_in(stored: StoredInstall) -> Evidence:
    """Return the evidence of a record; where none is stored, the evidence of the record alone."""
    return evidence_from_json(stored.known) if stored.known is not None else evidence_of(stored.remembered.record)


def _stored(stored: StoredInstall | None, after: Remembered, evidence: Evidence) -> StoredInstall:
    return (stored or StoredInstall(after))._replace(remembered=after, known=evidence_as_json(evidence).decode())


def _joined(mine: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """Return all identities, in the same order and spelling wherever they meet."""
    joined = dict(mine)
    for identity, text in others.items():
        joined[identity] = min(text, joined.get(identity, text))
    return joined

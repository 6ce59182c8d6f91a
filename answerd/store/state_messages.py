"""Messages about installs from a node's outbox to the database.

Rules: docs/many-nodes.md#reports-while-the-database-is-away.

A message has the evidence of one machine, and the line of its history for the event; or a machine that nothing claims.
"""

from __future__ import annotations

from base64 import b64decode, b64encode

import orjson

from answerd.installs.evidence import evidence_as_json, evidence_from_json
from answerd.store import StoreError
from answerd.store.evidence_batch import MachineEvidence
from answerd.store.install_batch import HistoryLine, Sighting


def message_of(machine: MachineEvidence, line: HistoryLine | None = None) -> bytes:
    """Return a message with the evidence of a machine, and the line of its history for the event."""
    fields = None
    if line is not None:
        body = b64encode(line.body).decode("ascii") if line.body else None
        fields = [line.at, line.what, _storable(line.detail), _storable(line.origin), line.counts, body]
    return orjson.dumps(
        {
            "name": machine.name,
            "known": evidence_as_json(machine.evidence).decode() if machine.evidence is not None else None,
            "forgotten": machine.forgotten,
            "identities": dict(machine.identities),
            "group": machine.group,
            "told": fields,
        }
    )


def message_of_sighting(sighting: Sighting) -> bytes:
    """Return a machine that nothing claims as a message."""
    return orjson.dumps({"unknown": list(sighting)})


def read_message(body: bytes) -> tuple[MachineEvidence, HistoryLine | None] | Sighting:
    """Return the content of a message. Raises `StoreError` where it cannot be read."""
    try:
        message = orjson.loads(body)
        if "unknown" in message:
            name, at, facts, asked = message["unknown"]
            return Sighting(str(name), float(at), str(facts), int(asked))
        evidence = evidence_from_json(message["known"]) if message["known"] is not None else None
        machine = MachineEvidence(
            message["name"], evidence, int(message["forgotten"]), message["identities"], message["group"]
        )
        return machine, _line(message["told"])
    except (ValueError, KeyError, TypeError):
        raise StoreError("a message of the outbox cannot be read: it is of another version, or damaged") from None


def _storable(text: str) -> str:
    """Return a text as every database takes it: PostgreSQL has no place for NUL."""
    return text.replace("\0", "")


def _line(fields: list[object] | None) -> HistoryLine | None:
    if fields is None:
        return None
    at, what, detail, origin, counts, body = fields
    kept = b64decode(str(body)) if body is not None else None
    return HistoryLine(float(str(at)), str(what), str(detail), str(origin), 1 if counts else 0, kept)

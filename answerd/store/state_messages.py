"""What nodes tell the database about installs: messages of an outbox.

Rules: docs/many-nodes.md#reports-while-the-database-is-away.

A message has all that is known of one machine, and the line of its history that made it known; or a machine that
nothing claims.
"""

from __future__ import annotations

from base64 import b64decode, b64encode

import orjson

from answerd.installs.evidence import known_as_json, known_from_json
from answerd.store import StoreError
from answerd.store.evidence_batch import Slot
from answerd.store.install_batch import Sighting, Told


def message_of(slot: Slot, told: Told | None = None) -> bytes:
    """Return what is known of a machine as a message."""
    line = None
    if told is not None:
        body = b64encode(told.body).decode("ascii") if told.body else None
        line = [told.at, told.what, _storable(told.detail), _storable(told.origin), told.counts, body]
    return orjson.dumps(
        {
            "name": slot.name,
            "known": known_as_json(slot.known).decode() if slot.known is not None else None,
            "forgotten": slot.forgotten,
            "identities": dict(slot.identities),
            "group": slot.group,
            "told": line,
        }
    )


def message_of_sighting(sighting: Sighting) -> bytes:
    """Return a machine that nothing claims as a message."""
    return orjson.dumps({"unknown": list(sighting)})


def read_message(body: bytes) -> tuple[Slot, Told | None] | Sighting:
    """Return what a message says. Raises `StoreError` where it is none."""
    try:
        told = orjson.loads(body)
        if "unknown" in told:
            machine, at, facts, asked = told["unknown"]
            return Sighting(str(machine), float(at), str(facts), int(asked))
        known = known_from_json(told["known"]) if told["known"] is not None else None
        slot = Slot(told["name"], known, int(told["forgotten"]), told["identities"], told["group"])
        return slot, _line(told["told"])
    except (ValueError, KeyError, TypeError):
        raise StoreError("a message of the outbox cannot be read: it is of another version, or damaged") from None


def _storable(text: str) -> str:
    """Return a text as every database takes it: PostgreSQL has no place for NUL."""
    return text.replace("\0", "")


def _line(line: list[object] | None) -> Told | None:
    if line is None:
        return None
    at, what, detail, origin, counts, body = line
    kept = b64decode(str(body)) if body is not None else None
    return Told(float(str(at)), str(what), str(detail), str(origin), 1 if counts else 0, kept)

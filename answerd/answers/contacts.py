"""From a request and what became of it to the last contact of its machine (`answerd.installs.contacts`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import orjson

from answerd.answers.secret_names import is_secret_name, redacted_cell
from answerd.facts import Facts, Request
from answerd.identity import identity_of, spelled_address
from answerd.installs.contacts import Contact, Held
from answerd.installs.hardware import NOBODY, Names
from answerd.installs.tokens import without_tokens
from answerd.shared_values import BUILT_IN, HARDWARE, MAC, SERIAL, UUID, SharedValues
from answerd.short_texts import cut, printable

LARGEST_LABELS: Final = 4_096
"""Bytes of the labels, as JSON, that are kept of a request; also of a body that is looked at for them."""

_LONGEST_PATH: Final = 200
_MOST_IDENTITIES: Final = 32


class Asked(NamedTuple):
    """A request of a machine whose last contact is kept, as it waits to be written. ``name`` is that of its row,
    document or member; empty where it has none. ``shared`` are the values that many machines have, ``tied`` identities
    of its row that it did not say."""

    request: Request
    name: str
    at: float
    status: int
    got: str
    held: Held
    shared: SharedValues = BUILT_IN
    tied: Names = NOBODY


def key_of(facts: Facts, name: str) -> str | None:
    """Return a text by which the requests of one machine are told from others, for a few microseconds: its name and the
    first of its hardware identities, because a name may be that of other hardware from one request to the next. None
    where it says nothing of itself."""
    macs = facts.path.macs
    hardware = macs[0] if macs else next((value for label in HARDWARE if (value := facts.first(label))), "")
    return f"{name} {hardware}" if name else hardware or None


def without_large_body(request: Request) -> Request:
    """Return a request to keep for a while."""
    if len(request.body) <= LARGEST_LABELS:
        return request
    return Request(request.path, request.query, request.headers, b"", request.peer)


def contact_of(asked: Asked) -> Contact | None:
    """Return the last contact; None where nothing identifies the machine."""
    facts = Facts(asked.request).knowing(asked.shared)
    texts = {identity_of(asked.name): asked.name} if asked.name else {}
    for identity, text in _hardware_of(facts):
        texts[identity] = text
        if len(texts) == _MOST_IDENTITIES:
            break
    texts.update((identity, text[1:]) for identity, text in asked.tied.items())
    if not texts:
        return None
    path = without_tokens(printable(asked.request.path))
    return Contact(
        next(iter(texts.values())),
        asked.at,
        tuple(texts)[:_MOST_IDENTITIES],
        cut(path, _LONGEST_PATH),
        asked.status,
        asked.got,
        asked.held,
        _labels_of(facts),
    )


def _hardware_of(facts: Facts) -> Iterator[tuple[str, str]]:
    found = [(MAC, value) for value in (*facts.path.macs, *facts.values(MAC))]
    for kind in (SERIAL, UUID):
        found += [(kind, value) for value in (*facts.values_before_json(kind), *facts.system_values(kind))]
    for kind, value in found:
        text = spelled_address(value) if kind == MAC else value
        identity = identity_of(text)
        if text.isprintable() and not facts.shared.holds(kind, identity):
            yield identity, text


def _labels_of(facts: Facts) -> str:
    """Return what the request said, without values that are named like a secret: as many labels as have a place."""
    kept: dict[str, list[str]] = {}
    size = 2
    for label, values in facts.labels.items():
        shown = [without_tokens(value) for value in values if value.isprintable()]
        if is_secret_name(label):
            shown = [redacted_cell(label, value) for value in shown]
        try:
            size += len(orjson.dumps({label: shown}))
        except (TypeError, ValueError):
            continue
        if size > LARGEST_LABELS:
            break
        kept[label] = shown
    return orjson.dumps(kept).decode()

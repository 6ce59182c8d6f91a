"""Who did what, and when: changes of documents, orders, log-ins at the console, and restores of backups.

Rules: docs/admin-api.md#audit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from itertools import islice
from typing import Any, Final

from answerd.answers.catalogue import Catalogue
from answerd.identity import Kind
from answerd.installs.events import Event
from answerd.installs.hardware import Names
from answerd.installs.records import InstallMemory
from answerd.machine_history import machine_history, names_of_machine, together, utc
from answerd.store import Author, HistoryEntry, HistoryFilter, Store
from answerd.store.layout import flat_name
from answerd.store.states import States

NAMED_AT_MOST: Final = 100
"""Machines and documents that an entry names."""

_ENTRIES_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are shown. ``machine`` is a name or an identity of a machine; ``who`` the name of a token or of a
    user in any letter case, or an address; ``since`` and ``until`` are times as `answerd.store.history.beginning`
    returns them. None: any."""

    machine: str | None = None
    who: str | None = None
    since: str | None = None
    until: str | None = None
    limit: int = 100


def audit_log(
    wanted: AuditFilter, store: Store | None, states: States | None, catalogue: Catalogue, memory: InstallMemory
) -> list[dict[str, Any]]:
    """Return what a filter lets through as JSON, the newest first. ``store`` is None where it has no history,
    ``states`` where there is no place for them. Raises `answerd.store.StoreError`."""
    names = names_of_machine(catalogue, memory, wanted.machine) if wanted.machine is not None else None
    found = []
    if store is not None:
        entries = _entries(store, wanted) if names is None else _of_machine(store, wanted, names, catalogue)
        found += [_change_as_json(made) for made in islice(together(entries), wanted.limit)]
    if states is not None:
        done = (_done_as_json(event) for event in states.audited() if names is None or _names_one(event, names))
        found += islice((one for one in done if _is_wanted(one, wanted)), wanted.limit)
    found.sort(key=lambda one: (one["when"], one["revision"] or 0), reverse=True)
    return found[: wanted.limit]


def _entries(store: Store, wanted: AuditFilter) -> Iterator[HistoryEntry]:
    page = HistoryFilter(
        since=wanted.since, until=wanted.until, who=wanted.who, limit=_ENTRIES_AT_ONCE, texts=False
    )  # fmt: skip
    while entries := store.history(page):
        yield from entries
        page = replace(page, before=entries[-1].revision)


def _of_machine(store: Store, wanted: AuditFilter, names: Names, catalogue: Catalogue) -> Iterator[HistoryEntry]:
    filtered = HistoryFilter(kind=Kind.MACHINE, since=wanted.since, until=wanted.until, who=wanted.who)
    for one in machine_history(store, filtered, names, (), catalogue):
        if one.entry is not None:
            yield one.entry


def _names_one(event: Event, names: Collection[str]) -> bool:
    return not event.names.keys().isdisjoint(names)


def _is_wanted(done: Mapping[str, Any], wanted: AuditFilter) -> bool:
    if not (wanted.since or "") <= done["when"] or (wanted.until is not None and done["when"] >= wanted.until):
        return False
    who = done["who"]
    return wanted.who is None or (who["name"] or "").lower() == wanted.who.lower() or who["peer"] == wanted.who


# --- as JSON ---------------------------------------------------------------------------------------------------------


def _change_as_json(made: list[HistoryEntry]) -> dict[str, Any]:
    author = made[0].author
    return {
        "when": made[0].at,
        "what": "change",
        "who": {"name": author.name, "peer": author.peer, "by": None},
        "machines": [],
        "documents": [flat_name(entry.key) for entry in made[:NAMED_AT_MOST]],
        "count": len(made),
        "revision": made[0].revision,
        "note": author.note,
    }


def _done_as_json(event: Event) -> dict[str, Any]:
    """Return an order, a log-in or a restore; its ``origin`` says by which way, who and from where."""
    by, _, rest = event.origin.partition(", ")
    author = _author_of(rest)
    machines = [*dict.fromkeys(text[1:] for text in event.names.values())]
    count, _, note = event.detail.partition(" ")
    return {
        "when": utc(event.at),
        "what": event.label,
        "who": {"name": author.name, "peer": author.peer, "by": by or None},
        "machines": machines[:NAMED_AT_MOST],
        "documents": [],
        "count": int(count) if count.isdigit() else len(machines),
        "revision": None,
        "note": note or None,
    }


def _author_of(text: str) -> Author:
    name, _, peer = text.rpartition(", ")
    try:
        ip_address(peer)
    except ValueError:
        return Author(None, text or None)
    return Author(peer, name or None)

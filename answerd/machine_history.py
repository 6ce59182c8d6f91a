"""What happened to one machine: changes of its documents and of its row, and orders, in one list by time.

Rules: docs/admin-api.md#history.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from answerd.answers.catalogue import Catalogue
from answerd.answers.document_diff import document_lines
from answerd.answers.inventory_index import inventory_file
from answerd.answers.line_diff import unified
from answerd.answers.operator_names import machine_named
from answerd.answers.redaction import redacted
from answerd.answers.secret_names import redacted_row
from answerd.documents import RawDocument
from answerd.identity import Kind, identity_of, normalize
from answerd.installs.events import ORDERED, Event
from answerd.installs.hardware import NAME, Names
from answerd.installs.records import InstallMemory
from answerd.inventory import FORMAT
from answerd.inventory.meaning import Meaning
from answerd.inventory.records import UnreadableError
from answerd.inventory.row import Row
from answerd.inventory.table import Table, table_after
from answerd.store import HistoryEntry, HistoryFilter, Store

MOST_TABLES: Final = 1_000
"""Changes of inventories, the newest, in which the machine's row is looked for."""

_TABLES_AT_ONCE: Final = 20
_MOST_IDENTITIES: Final = 32


class RowChange(NamedTuple):
    """A row's cells by column before and after a change; None where it had no row."""

    before: Mapping[str, str] | None
    after: Mapping[str, str] | None


class Happened(NamedTuple):
    """A change of a document, or of the ``row`` in an inventory; or an ``order``. ``when`` is UTC."""

    when: str
    entry: HistoryEntry | None = None
    row: RowChange | None = None
    order: Event | None = None

    @property
    def token(self) -> str:
        return self.entry.token if self.entry is not None else ""


class Change(Protocol):
    """A change of one document, in any form."""

    @property
    def token(self) -> str:
        """See `answerd.store.HistoryEntry`."""


_Change = TypeVar("_Change", bound=Change)


def together(changes: Iterable[_Change]) -> Iterator[list[_Change]]:
    """Yield the changes of documents that were made together, which come in a row, as one list each."""
    made: list[_Change] = []
    for change in changes:
        if made and (not change.token or change.token != made[0].token):
            yield made
            made = []
        made.append(change)
    if made:
        yield made


def names_of_machine(catalogue: Catalogue, memory: InstallMemory, name: str) -> Names:
    """Return the identities of a machine, with what it is called; of a name that nothing has any more that name."""
    machine = machine_named(catalogue, memory, name)
    found = {identity_of(name): NAME + name}
    if machine is None:
        return found
    row = machine.row.identities() if machine.row is not None else {}
    found |= {identity: NAME + text for identity, text in row.items()}
    return {**found, identity_of(machine.name): NAME + machine.name, **machine.names}


def machine_history(
    store: Store, wanted: HistoryFilter, names: Names, events: Sequence[Event], catalogue: Catalogue
) -> list[Happened]:
    """Return what happened to the machine with some identities, the newest first: ``wanted`` says since when, before
    which revision, in which format and how much. ``events`` are those of its install, ``catalogue`` says what tables
    mean. Raises `StoreError`."""
    changes: dict[int, HistoryEntry] = {}
    for text in [*names.values()][:_MOST_IDENTITIES]:
        for entry in store.history(replace(wanted, kind=Kind.MACHINE, identifier=text[1:])):
            changes[entry.revision] = entry
    found = [Happened(entry.at, entry) for entry in changes.values()]
    if wanted.format in (None, FORMAT):
        found += rows_changed(store, wanted, names, catalogue)
    if wanted.format is None:
        end = _time_of(store, wanted.before) if wanted.before is not None else None
        orders = (Happened(utc(event.at), order=event) for event in events if event.kind in ORDERED.values())
        found += [one for one in orders if one.when >= (wanted.since or "") and (end is None or one.when < end)]
    found.sort(key=lambda one: (one.when, one.entry.revision if one.entry is not None else 0), reverse=True)
    return found[: wanted.limit]


def rows_changed(
    store: Store, wanted: HistoryFilter, identities: Collection[str], catalogue: Catalogue, most: int = MOST_TABLES
) -> Iterator[Happened]:
    """Yield the changes of the machine's row, the newest first, until there are enough. ``most``: how many changes of
    inventories are looked at. Raises `StoreError`."""
    left, looked_at = wanted.limit if wanted.limit is not None else MOST_TABLES, 0
    page = replace(wanted, kind=Kind.INVENTORY, identifier=None, format=FORMAT, limit=_TABLES_AT_ONCE)
    while left > 0 and looked_at < most:
        entries = store.history(page)
        if not entries:
            return
        for entry in entries:
            looked_at += 1
            change = _row_change(entry, identities, catalogue.meaning_of(entry.key.identifier))
            if change is not None and left > 0:
                left -= 1
                yield Happened(entry.at, entry, change)
        page = replace(page, before=entries[-1].revision)


def _row_change(entry: HistoryEntry, identities: Collection[str], meaning: Meaning) -> RowChange | None:
    """Return what a change of an inventory changed of the machine's row; None where it did not."""
    if not _may_be_of(entry, identities):
        return None
    source = inventory_file(RawDocument(entry.key, ""))
    before = _table(None, source, entry.before, meaning)
    after = _table(before, source, entry.after, meaning)
    kept = {id(row) for row in before.rows} if before is not None else set()
    now = {id(row) for row in after.rows} if after is not None else set()
    old = [row for row in before.rows if id(row) not in now] if before is not None else []
    new = [row for row in after.rows if id(row) not in kept] if after is not None else []
    was, is_now = _own(old, identities), _own(new, identities)
    return RowChange(was, is_now) if was != is_now else None


def _may_be_of(entry: HistoryEntry, identities: Collection[str]) -> bool:
    """Return whether a change may be of a machine's row: a line that differs has one of its identities, or the header
    does. Reading a table of 2,000 rows takes a hundred times as long. A quoted cell may have several lines."""
    before, after = entry.before or "", entry.after or ""
    if '"' in before or '"' in after:
        return True
    old, new = before.splitlines(), after.splitlines()
    if old and new and old[0] != new[0]:
        return True
    forms = [normalize(identity) for identity in identities]
    return any(form in normalize(line) for line in {*old} ^ {*new} for form in forms)


def _table(last: Table | None, source: str, text: str | None, meaning: Meaning) -> Table | None:
    """Return the table of a text, whose rows are the same objects as in ``last`` where they did not change."""
    if text is None:
        return None
    try:
        return table_after(last, source, text, meaning).table
    except UnreadableError:
        return None


def _own(rows: Sequence[Row], identities: Collection[str]) -> dict[str, str] | None:
    row = next((row for row in rows if not row.identities().keys().isdisjoint(identities)), None)
    return row.by_column() if row is not None else None


def _time_of(store: Store, revision: int) -> str | None:
    found = store.history(HistoryFilter(revision=revision, texts=False))
    return found[0].at if found else None


def utc(at: float) -> str:
    """Return a time as those of changes are: ``2026-11-21T09:14:05.120Z``."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- as JSON ---


def happened_as_json(one: Happened, labels: Mapping[str, str], *, show_secrets: bool = False) -> dict[str, Any]:
    """Return what happened, as the API shows it; without the texts' secrets unless they are asked for."""
    if one.order is not None:
        return {
            "revision": None,
            "change": None,
            "when": one.when,
            "who": {"name": one.order.origin, "peer": None},
            "note": None,
            "kind": "order",
            "identifier": one.order.label,
            "format": None,
            "before": None,
            "after": None,
            "diff": [one.order.kind.value],
        }
    entry = one.entry
    assert entry is not None  # noqa: S101 - a change or an order
    if one.row is not None:
        sides = [_row_text(cells, {} if show_secrets else labels, show_secrets) for cells in one.row]
        diff = unified(*((side or "").splitlines() for side in sides))
    else:
        texts = entry.before, entry.after
        hidden = [None if text is None else redacted(text, entry.key.format, labels=labels) for text in texts]
        sides = [*texts] if show_secrets else hidden
        diff = document_lines(entry.key, *texts, labels, show_secrets=show_secrets)
    return {
        "revision": entry.revision,
        "change": entry.token or None,
        "when": entry.at,
        "who": {"name": entry.author.name, "peer": entry.author.peer},
        "note": entry.author.note,
        "kind": entry.key.kind.value,
        "identifier": entry.key.identifier,
        "format": entry.key.format,
        "before": sides[0],
        "after": sides[1],
        "diff": diff,
    }


def _row_text(cells: Mapping[str, str] | None, labels: Mapping[str, str], show_secrets: bool) -> str | None:
    """Return a row as text, a line for each column that has a value."""
    if cells is None:
        return None
    shown = cells if show_secrets else redacted_row(cells, labels)
    return "".join(f"{column}: {value}\n" for column, value in shown.items() if value)

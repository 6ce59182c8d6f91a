"""The states of installs on one node of many: a local file with all records, and an outbox of messages that the
database does not have yet.

Rules: docs/many-nodes.md#states-of-installs.

A machine's report is written into the file and the outbox in one transaction, so it counts here at once and is never
lost. The evidence of other nodes is merged in. An operator's order is made in the database first. Knows files and rows;
`answerd.store.state_replicator` decides when the database is queried.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import peewee

from answerd.identity import identity_of
from answerd.installs.shown import HistoryEvent, UnknownMachine
from answerd.installs.states import Ordered, Rules
from answerd.store import StoreAway, StoreError
from answerd.store.database_installs import DatabaseInstalls, InstallsPosition, OrderResult
from answerd.store.evidence_batch import EvidenceBatch, MachineEvidence
from answerd.store.install_batch import HistoryLine, PendingEvent, Sighting, write_sightings
from answerd.store.install_tables import SettingRow, setting
from answerd.store.installs import BatchResult, InstallChanges, InstallStore, next_revision
from answerd.store.migrations import STATE_MIGRATIONS, migrate
from answerd.store.outbox import Outbox, Waiting, add
from answerd.store.sqlite_file import SqliteFile
from answerd.store.state_messages import message_of, message_of_sighting
from answerd.store.tables import execute

SUFFIX = ".states"
"""The suffix of the file's name, after the name of the replica."""

AGAIN_SECONDS = 5.0
"""How long the node's own file is read in place of a database that did not answer."""

_T = TypeVar("_T")
_REVISION, _TOKEN = "shared_revision", "shared_token"


def states_path(replica: str | Path) -> Path:
    """Return where a node keeps its states, beside its replica."""
    path = Path(replica).absolute()
    return path.with_name(path.name + SUFFIX)


class NodeInstallStore(InstallStore):
    """The states as this node knows them. Made before forking; ``wake_up`` can be read from when the outbox has
    something new."""

    late: type[StoreError] = StoreAway

    def __init__(self, path: Path, shared: DatabaseInstalls, refusal: Callable[[], str] = lambda: "") -> None:
        """Open the file; make it and its tables where missing. Raises `StoreError`."""
        file = SqliteFile(path)
        with file.faults("opened"):
            file.create()
            with file.connected() as database:
                migrate(database, file.path, STATE_MIGRATIONS)
        self.outbox = Outbox(path)
        self.wake_up, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._shared = shared
        self._is_filled = False
        self._away_until = 0.0
        super().__init__(file, refusal)

    # --- what requests ask -----------------------------------------------------------------------------------------

    @property
    def key(self) -> bytes:
        """The key of tokens, which is the database's. Raises `StoreError` where it was never read."""
        if self._key is None:
            with self.reading() as database:
                self._key = self._first_key(database)
            if self._key is None:
                raise StoreError(self._never_read)
        return self._key

    @property
    def mark(self) -> bytes:
        """The mark of this node's states: the name of its outbox, which exists from the start."""
        return str(self.outbox.source).encode()

    @property
    def _never_read(self) -> str:
        return f"the states of installs were never read from the database {self._shared.described}"

    def _first_key(self, database: peewee.SqliteDatabase) -> bytes | None:
        found = setting(database, "key")
        return bytes.fromhex(found) if found else None

    def changes_since(self, since: int) -> InstallChanges | None:
        """Return the changes (`InstallStore.changes_since`). Raises `StoreError` also where the file was never filled:
        a machine that another node knows as installed would be new here."""
        if not self._is_filled:
            if self.position() is None:
                raise StoreError(self._never_read)
            self._is_filled = True
        return super().changes_since(since)

    def history(self, name: str) -> list[HistoryEvent]:
        """Return the events of a record at all nodes; while the database is away those of this node."""
        return self._from_all(lambda: self._shared.history(name), lambda: super(NodeInstallStore, self).history(name))

    def unknown(self) -> list[UnknownMachine]:
        """Return the machines that nothing claimed at any node; while the database is away those at this node."""
        return self._from_all(self._shared.unknown, super().unknown)

    def waiting(self) -> Waiting | None:
        """Return the number and age of messages that the database does not have yet. Raises `StoreError`."""
        return self.outbox.waiting()

    def _from_all(self, ask: Callable[[], _T], ask_here: Callable[[], _T]) -> _T:
        if time.monotonic() >= self._away_until:
            try:
                return ask()
            except StoreError:
                self._away_until = time.monotonic() + AGAIN_SECONDS
        return ask_here()

    # --- writing ---------------------------------------------------------------------------------------------------

    def write(self, entries: Sequence[PendingEvent], rules: Rules, sightings: Sequence[Sighting] = ()) -> BatchResult:
        """Write events; on return they are on the disk, and in the outbox. Orders are in the database.

        Raises `StoreError`; then nothing is written. Orders need the database (`answerd.store.StoreAway`).
        """
        orders = [entry for entry in entries if isinstance(entry.event, Ordered)]
        rest = [entry for entry in entries if not isinstance(entry.event, Ordered)]
        if not orders:
            return self._write_here(rest, rules, sightings)
        if not rest and not sightings:
            return self._order(orders, rules)
        # Copies count before the orders, and another process writes them: twice is as good as once.
        here = self._write_here(rest, rules, sightings) if all(entry.is_copy for entry in rest) else None
        ordered = self._order(orders, rules)
        here = here or self._write_here(rest, rules, sightings)
        first, second = iter(ordered.applied), iter(here.applied)
        applied = [next(first if isinstance(entry.event, Ordered) else second) for entry in entries]
        return BatchResult(applied, ordered.changes)

    def _write_here(self, entries: Sequence[PendingEvent], rules: Rules, sightings: Sequence[Sighting]) -> BatchResult:
        with self.writing() as (database, revision):
            batch = EvidenceBatch(database, [entry.name for entry in entries], rules)
            batch.apply(entries)
            batch.write(revision)
            write_sightings(database, sightings)
            add(database, [message_of(batch.machine(name), line) for name, line in batch.noted()])
            add(database, [message_of_sighting(sighting) for sighting in sightings])
        self._wake_up()
        return BatchResult(batch.applied, InstallChanges(revision, batch.changed(), batch.forgotten_now))

    def _order(self, orders: Sequence[PendingEvent], rules: Rules) -> BatchResult:
        names = [entry.name for entry in orders]
        with self.reading() as database:
            batch = EvidenceBatch(database, names, rules)
            own = [batch.machine(name) for name in names]
        ordering = self._shared.order(orders, rules, own)
        try:
            # The outbox sends the order again: a fail-over may lose it before the replicator has seen it.
            changes = self.merge(_lines(ordering), rules, send_all=True)
        except StoreError:
            changes = InstallChanges(-1)  # the database has the orders: the replicator brings them
        return BatchResult(ordering.applied, changes)

    def _wake_up(self) -> None:
        try:
            os.write(self._waker, b"x")
        except BlockingIOError:
            pass  # the replicator has not read the last wake-ups yet

    # --- what the replicator does ----------------------------------------------------------------------------------

    def position(self) -> InstallsPosition | None:
        """Return the state of the database up to which this file has everything; None where it was never filled."""
        with self.reading() as database:
            revision, token = (setting(database, name) for name in (_REVISION, _TOKEN))
        return None if revision is None else InstallsPosition(int(revision), token or "")

    def known_key(self) -> bytes | None:
        """Return the key of tokens; None where it was never read. Raises `StoreError`."""
        with self.reading() as database:
            return self._first_key(database)

    def note_key(self, key: bytes) -> None:
        """Remember the key of tokens. Raises `StoreError`."""
        with self.transaction() as database:
            _note(database, {"key": key.hex()})

    def forget_position(self) -> None:
        """Have the next poll of the database compare everything. Raises `StoreError`."""
        with self.transaction() as database:
            _note(database, {_TOKEN: ""})

    def merge(
        self,
        machines: Sequence[tuple[MachineEvidence, HistoryLine | None]],
        rules: Rules,
        *,
        send_back: bool = False,
        send_all: bool = False,
        to: InstallsPosition | None = None,
    ) -> InstallChanges:
        """Merge the database's evidence, each with a line of the history. Raises `StoreError`.

        ``send_back``: where this node knows more, put that into the outbox for the database; ``send_all``: in any case.
        ``to`` is the `position` that is reached.
        """
        with self.transaction() as database:
            batch = EvidenceBatch(database, [machine.name for machine, _ in machines], rules)
            more = [machine.name for machine, line in machines if batch.join(machine, line)]
            revision = -1
            if not batch.is_empty:
                revision = next_revision(database)
                batch.write(revision)
            if send_all or send_back:
                names = [machine.name for machine, _ in machines] if send_all else more
                add(database, [message_of(batch.machine(name)) for name in names])
            if to is not None:
                _note(database, {_REVISION: str(to.revision), _TOKEN: to.token})
        return InstallChanges(revision, batch.changed(), batch.forgotten_now)

    def names(self) -> set[str]:
        """Return the identities of the names of all machines that have a record or were forgotten. Raises
        `StoreError`."""
        with self.reading() as database:
            found = execute(
                database,
                "SELECT name_identity FROM installs UNION SELECT name_identity FROM forgotten_installs",
            ).fetchall()
        return {name for (name,) in found}

    def enqueue_all(self, names: Sequence[str], rules: Rules) -> None:
        """Put the evidence of some machines into the outbox. Raises `StoreError`."""
        with self.writing() as (database, _):
            batch = EvidenceBatch(database, names, rules)
            add(database, [message_of(batch.machine(name)) for name in names])


def _lines(ordering: OrderResult) -> list[tuple[MachineEvidence, HistoryLine | None]]:
    """Return the evidence of the ordered machines, each with the last line of its history."""
    lines = dict(ordering.lines)
    return [(machine, lines.get(identity_of(machine.name))) for machine in ordering.machines]


def drained(descriptor: int) -> None:
    """Empty a pipe."""
    try:
        while os.read(descriptor, 4_096):
            pass
    except BlockingIOError:
        pass


def _note(database: peewee.SqliteDatabase, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        SettingRow.insert({"name": name, "value": value}).on_conflict_replace().bind(database).execute()

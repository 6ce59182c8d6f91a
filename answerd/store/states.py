"""The states of installs in a SQLite file: the log of events, from which every process reads the states.

Rules: docs/install-once.md#where-states-are-kept. What events mean is in `answerd.installs.events`.

A commit waits until its events are on the disk, and other connections see them only then: what a process has read
survives a power failure. Readers find out by ``PRAGMA data_version`` that another connection wrote, and read the events
after the last revision that they know. The ``epoch`` is a random text that `restore` replaces: other contents are read
as a whole."""

from __future__ import annotations

import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import peewee

from answerd.answers.last_words import NO_WORDS, LastWords
from answerd.answers.operator_names import OrderedMachine
from answerd.installs.contacts import Contact
from answerd.installs.events import AUDIT, Event, audited
from answerd.installs.hardware import NAME
from answerd.installs.records import InstallMemory
from answerd.installs.shown import UnknownMachine
from answerd.installs.states import Order, Rules
from answerd.installs.tokens import KEY_LENGTH
from answerd.store import WRITER_WAIT_SECONDS, StoreAway, StoreError
from answerd.store.file_io import sync_directory
from answerd.store.nodes import Node
from answerd.store.schema import STATES, migrate
from answerd.store.sqlite import SqliteFile, StoreBusy
from answerd.store.state_tables import (
    COLUMNS,
    INSERT,
    OWN,
    SETTING,
    Sighting,
    audited_in,
    contacts_in,
    contacts_written,
    events_since,
    history_of,
    insert,
    note,
    run,
    run_many,
    setting,
    stored_under,
    tidy,
    unknown_machines,
    write_contacts,
    write_sightings,
)

BUSY_SECONDS: Final = 6.0
"""How long the service's events wait while another program writes to the file: an import of a large set."""


MOST_AUDITED_OF_ONE: Final = 1_000
"""Machines of one order that the audit names."""


class Position(NamedTuple):
    """What a reader knows: the last revision, and the epoch that it belongs to."""

    revision: int = 0
    epoch: str = ""


class Waiting(NamedTuple):
    """The number of events that wait for the shared database, and the age of the oldest in seconds."""

    messages: int = 0
    seconds: float = 0.0


Known = tuple[InstallMemory, Position]
"""The states as a command has read them, and how far."""


class GivenOrder(NamedTuple):
    """An operator's order. ``at`` is in seconds."""

    order: Order
    machines: Sequence[OrderedMachine]
    at: float
    origin: str

    def events(self, memory: InstallMemory) -> list[Event]:
        """Return the orders, and what the audit keeps of them; none for no machine."""
        found = [memory.ordered(self.order, one.label, one.names, self.at, self.origin) for one in self.machines]
        return [*found, self._audited()] if found else []

    def _audited(self) -> Event:
        named = self.machines[:MOST_AUDITED_OF_ONE]
        names = {identity: NAME + one.label for one in named for identity in one.names}
        return audited(self.order.value, self.at, self.origin, names, str(len(self.machines)))


class States(ABC):
    """The states in a database, as commands use them. Every method raises `StoreError`."""

    @abstractmethod
    def catch_up(self, memory: InstallMemory, position: Position) -> tuple[InstallMemory, Position]:
        """Return the records now, and how far they were read. ``memory`` is changed where it only lacks events."""

    @abstractmethod
    def order(self, given: GivenOrder, known: Known) -> None:
        """Write an operator's order to what some machines name; on return it is on the disk. ``known`` is brought up to
        date first: an order takes the place of what was known before it."""

    @abstractmethod
    def take(self, rows: Sequence[Sequence[Any]], key: str | None) -> int:
        """Store rows of events that another place has, and where there is none yet its key of report URLs; return how
        many were new. Raises `StoreError`."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[peewee.Database]:
        """A connection for the time of a block."""

    def history(self, identities: Collection[str], beside: Iterable[str] = ()) -> list[Event]:
        """Return the events of the machine that has some identities, oldest first. ``beside`` are others under which
        they may be stored (`InstallMemory.beside`)."""
        with self.reading() as database:
            return history_of(database, identities, beside)

    @abstractmethod
    def note_audited(self, event: Event) -> None:
        """Write an event of the audit."""

    def audited(self) -> list[Event]:
        """Return the events of the audit, the newest first."""
        with self.reading() as database:
            return audited_in(database)

    def is_empty(self) -> bool:
        """Return whether nothing was ever given, reported or ordered."""
        with self.reading() as database:
            return run(database, "SELECT 1 FROM events WHERE kind <> 'audited' LIMIT 1").fetchone() is None

    def unknown(self) -> list[UnknownMachine]:
        with self.reading() as database:
            return unknown_machines(database)

    def contacts(self, of: Set[str] | None = None) -> list[Contact]:  # noqa: ARG002 - there are none
        """Return the last contacts with this service, of all machines or of those with one of some identities; none
        where they are not known here."""
        return []

    def contacts_written(self) -> float:
        """Return a number that is another one once a contact was written."""
        return 0.0

    def nodes(self) -> Sequence[Node]:
        """Return the nodes that share the states; none where they are of one service."""
        return ()

    def waiting(self) -> Waiting | None:
        """Return the number and age of events that wait for a database that nodes share; None where there is none."""
        return None


def words_known(states: States | None, of: Set[str] | None = None) -> LastWords:
    """Return what machines last said to the service, for answers that are only tried: all, or those with one of some
    identities; nothing where that is not kept, or cannot be read, which the service says."""
    try:
        return NO_WORDS if states is None else LastWords(states.contacts(of))
    except StoreError:
        return NO_WORDS


LOST: Final = (
    "do not restart the service, without this file every machine may install again; put the file back, or bring the "
    'states back from a backup: "answerd restore FILE"'
)
"""What is to be done where the file of the states is not there."""


class StateFile(States):
    """The states in one file. Holds no connection; any thread may use it."""

    shared: int | None = OWN
    """``shared`` of a new event."""

    unfilled = ""
    """Why the states are not known yet; empty where they are."""

    _made: tuple[str, ...] = ("key", "epoch")
    """The settings that a file without them is given, random ones."""

    def __init__(self, file: SqliteFile, rules: Rules, refusal: Callable[[], str] = lambda: "") -> None:
        """Take a file whose tables are there. ``refusal`` is `answerd.store.Store.refusal`. Raises `StoreError`."""
        self.file = file
        self.refusal = refusal
        self.rules = rules
        with file.faults("opened"):
            self._inode = _inode(file.path)
            with file.connected(WRITER_WAIT_SECONDS) as database:
                self._prepare(database)

    def _prepare(self, database: peewee.SqliteDatabase) -> None:
        for name in self._made:
            if setting(database, name) is None:
                statement = "INSERT INTO install_settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
                run(database, statement, (name, secrets.token_hex(KEY_LENGTH if name == "key" else 8)))

    @property
    def path(self) -> Path:
        return self.file.path

    def key(self) -> bytes:
        """Return the key of tokens. Raises `StoreError` where it is not known."""
        with self.reading() as database:
            found = setting(database, "key")
        if found is None:  # a backup was restored that has none
            with self.writing() as database:
                self._prepare(database)
                found = setting(database, "key")
        if found is None:  # of a node: it is the database's
            raise StoreError(self.unfilled)
        return bytes.fromhex(found)

    def before_order(self) -> list[str]:
        """Learn what other nodes know, where there are any. Return lines for the log."""
        return []

    def wake_up(self) -> None:
        """Have new events delivered, where there are other nodes."""

    # --- reading ---------------------------------------------------------------------------------------------------

    def catch_up(self, memory: InstallMemory, position: Position) -> tuple[InstallMemory, Position]:
        with self.reading() as database, database.atomic():
            return caught_up(database, memory, position, epoch_of(database))

    @contextmanager
    def reading(self) -> Iterator[peewee.SqliteDatabase]:
        with self.file.faults("read"):
            self.require_same_file()
            with self.file.connected() as database:
                yield database

    def require_same_file(self) -> None:
        """Raise `StoreError` where the file has vanished or is another one: its states would let machines install
        again."""
        try:
            found = _inode(self.path)
        except FileNotFoundError:
            raise StoreError(f"{self.path} has vanished: {LOST}") from None
        if found != self._inode:
            raise StoreError(
                f"{self.path} was replaced by another file: restart the service to take its states, once "
                '"answerd installs" shows them'
            )

    # --- writing ---------------------------------------------------------------------------------------------------

    def order(self, given: GivenOrder, known: Known) -> None:
        self.before_order()
        with self.writing() as database:
            memory, _ = caught_up(database, *known, epoch_of(database))
            events = given.events(memory)
            insert(database, events, self.shared)
            tidy(database, [event.record for event in events])
        self.wake_up()

    def note_audited(self, event: Event) -> None:
        with self.writing() as database:
            insert(database, [event], self.shared)
            tidy(database, [event.record])
        self.wake_up()

    def contacts(self, of: Set[str] | None = None) -> list[Contact]:
        with self.reading() as database:
            return contacts_in(database, of)

    def contacts_written(self) -> float:
        with self.reading() as database:
            return contacts_written(database)

    def note_contacts(self, contacts: Sequence[Contact]) -> None:
        """Write the last contacts of machines, without waiting for the disk. Raises `StoreError`."""
        with self.file.faults("written"):
            self.require_same_file()
            with self.file.connected(WRITER_WAIT_SECONDS) as database:
                run(database, "PRAGMA synchronous = OFF")
                with database.atomic("IMMEDIATE"):
                    write_contacts(database, contacts)

    def take(self, rows: Sequence[Sequence[Any]], key: str | None) -> int:
        with self.writing() as database:
            is_new = run(database, "SELECT 1 FROM events WHERE kind <> 'audited' LIMIT 1").fetchone() is None
            known = {one for (one,) in run(database, "SELECT id FROM events").fetchall()}
            new = [row for row in rows if row[0] not in known]
            if key is not None and is_new:
                note(database, "key", key)
                note(database, "epoch", secrets.token_hex(8))  # a service that runs reads the key again
            run_many(database, INSERT, [(None, *row, self.shared) for row in new])
        return sum(row[2] != AUDIT for row in new)

    def note_sightings(self, sightings: Sequence[Sighting]) -> None:
        with self.writing() as database:
            write_sightings(database, sightings, is_node=self.shared is None)
        self.wake_up()

    def drop(self, dropped: Mapping[str, int], is_kept: Callable[[str], bool]) -> list[str]:
        """Remove the events of some records up to a revision each, another process may have taken a report since, that
        name nothing that is kept; return their ids. Raises `StoreError`."""
        with self.writing() as database:
            gone = [
                event.id
                for revision, event in stored_under(database, dropped)
                if revision <= dropped[event.record] and not any(is_kept(one) for one in event.names)
            ]
            run_many(database, "DELETE FROM events WHERE id = ?", [(one,) for one in gone])
        return gone

    def tidy(self, names: Iterable[str]) -> None:
        """Remove what is not kept of the records to which events were just added. Raises `StoreError`."""
        with self.writing() as database:
            tidy(database, names)

    @contextmanager
    def writing(self) -> Iterator[peewee.SqliteDatabase]:
        """A transaction, which is on the disk at the end of the block. Raises `StoreError`."""
        with self.file.faults("written"):
            self.require_same_file()
            with self.file.connected(WRITER_WAIT_SECONDS) as database, database.atomic("IMMEDIATE"):
                yield database


class EventReader:
    """The log as the loop of one process reads it: by a connection that waits for nobody. Made after forking. Requests
    wait for it, so it asks SQLite itself: that takes a third of the time."""

    def __init__(self, states: StateFile) -> None:
        self._file = states.file
        self._version: int | None = None
        with self._file.faults("read"):
            states.require_same_file()
            database = self._file.connect(0)
            run(database, "PRAGMA cache_size = -4000")
        connection: sqlite3.Connection = database.connection()  # type: ignore[no-untyped-call]
        self._cursor = connection.cursor()

    def _fetch(self, statement: str, values: Sequence[Any] = ()) -> Sequence[Sequence[Any]]:
        try:  # each request asks: a context manager takes as long as the question
            return self._cursor.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._file.fault("read", error) from None

    def has_changed(self) -> bool:
        """Return whether another connection has written since the last call. Raises `StoreError`."""
        ((version,),) = self._fetch("PRAGMA data_version")
        changed: bool = version != self._version
        self._version = version
        return changed

    def read_again(self) -> None:
        """Have `has_changed` return that something has."""
        self._version = None

    def epoch(self) -> str:
        found = self._fetch(SETTING, ("epoch",))
        return found[0][0] if found else ""

    def since(self, revision: int) -> Iterator[list[tuple[int, Event | None]]]:
        """Yield the events after a revision, as `events_since` does. Raises `StoreError`."""
        return events_since(self._fetch, revision)


class EventWriter:
    """Writes the events of one process, in one thread of it."""

    def __init__(self, states: StateFile) -> None:
        self._states = states
        self._database: peewee.SqliteDatabase | None = None

    def write(self, events: Sequence[Event]) -> None:
        """Write events, all or none; on return they are on the disk. Raises `StoreError`."""
        states = self._states
        try:
            with states.file.faults("written"):
                states.require_same_file()
                if self._database is None:
                    self._database = states.file.connect(BUSY_SECONDS)
                    sync_directory(states.path.parent)  # the write-ahead log may be new
                with self._database.atomic("IMMEDIATE"):
                    insert(self._database, events, states.shared)
        except StoreError as error:
            if self._database is not None:
                self._database.close()
                self._database = None
            if isinstance(error, StoreBusy):
                raise StoreAway(str(error)) from None
            raise
        states.wake_up()


def open_state_file(path: str, rules: Rules) -> tuple[StateFile, bool]:
    """Return the states in a file of their own, and whether it had to be made. Raises `StoreError`."""
    file = SqliteFile(path)
    if not file.path.parent.is_dir():
        raise StoreError(f"SERVICE_STATE_PATH: {file.path.parent} is no directory: make it, or name another place")
    was_made = not file.path.exists()
    make_tables(file)
    return StateFile(file, rules), was_made


def make_tables(file: SqliteFile) -> None:
    """Make a file that holds states alone, and its tables, where missing. Raises `StoreError`."""
    with file.faults("opened"):
        file.create()
        with file.connected(WRITER_WAIT_SECONDS) as database:
            if "documents" in database.get_tables():
                raise StoreError(f"SERVICE_STATE_PATH: {file.path} is a database of documents: name a file of its own")
            run(database, "PRAGMA page_size = 1024")  # an event writes two or three pages into the write-ahead log
            migrate(database, file.path, STATES)


def take_states(source: StateFile, target: States) -> int:
    """Copy the events that another place for states has and this one has not, and where this one has none yet the key
    of report URLs; return how many. What both know is joined. Raises `StoreError`."""
    with source.reading() as database:
        rows = run(database, f"SELECT {COLUMNS} FROM events ORDER BY revision").fetchall()  # noqa: S608 - no value
        key = setting(database, "key")
    return target.take(rows, key)


def epoch_of(database: peewee.Database) -> str:
    return setting(database, "epoch") or ""


def caught_up(
    database: peewee.Database, memory: InstallMemory, position: Position, epoch: str
) -> tuple[InstallMemory, Position]:
    """Return all records of a database, and how far they were read: ``memory`` with the events after ``position``, or
    a new memory where the position is of another epoch."""
    if epoch != position.epoch:
        memory, position = InstallMemory(memory.rules), Position(0, epoch)
    revision = position.revision
    for part in events_since(lambda statement, values: run(database, statement, values).fetchall(), revision):
        for number, event in part:
            revision = number
            if event is not None:
                memory.apply(event)
    return memory, Position(revision, epoch)


def _inode(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino

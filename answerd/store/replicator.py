"""The replicator: keeps a node's replica equal to the database, in a process of its own.

Rules: docs/many-nodes.md#the-replica.

A notice (``LISTEN``) wakes it; the counter is polled every half second all the same, because a pooler, a standby and
CockroachDB send no notices, and because only a query shows that a silent connection is dead. A connection that is lost
is made again at once, then after 0.1 s, doubling to 1 s.
"""

from __future__ import annotations

import mmap
import random
import select
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import peewee

from answerd import __version__
from answerd.fault_log import FaultLog
from answerd.store import NewerSchema, StoreError, StoreFull
from answerd.store.agreement import Digests
from answerd.store.nodes import (
    REPORT_SECONDS,
    NodeReport,
    differences_of,
    forget_silent_nodes,
    nodes_in,
    report_node,
)
from answerd.store.postgres_connection import CHANNEL, READ_SECONDS, PostgresServer, raw_connection
from answerd.store.replica import Replica
from answerd.store.schema import migrate_postgres, refuse_newer_postgres
from answerd.store.state_sync import NodeStates, exchange
from answerd.store.tables import execute

POLL_SECONDS = 0.5
"""Seconds between two polls of the counter without a notice."""

FIRST_RETRY_SECONDS = 0.1
LONGEST_RETRY_SECONDS = 1.0

_FAULTS = (StoreError, peewee.PeeweeException, sqlite3.Error, OSError)


class SharedSentence:
    """A sentence that one process of a node writes and all of them read. To be made before they are forked."""

    _BYTES = 1024

    def __init__(self) -> None:
        self._cells = mmap.mmap(-1, self._BYTES)

    def get(self) -> str:
        return self._cells[:].rstrip(b"\0").decode("utf-8", "replace")

    def set(self, text: str) -> None:
        self._cells[:] = text.encode()[: self._BYTES].ljust(self._BYTES, b"\0")


class FollowingNode(Protocol):
    """The parts of a node that its replicator works on. ``refused`` is why it is to take no write, ``away`` why it
    cannot follow the database; ``not_reached`` is when a start did not reach it (seconds since 1970)."""

    server: PostgresServer
    replica: Replica
    states: NodeStates
    refused: SharedSentence
    away: SharedSentence
    not_reached: float | None


class Replicator:
    """Follows the database. Plain blocking code: it has its process to itself."""

    def __init__(
        self,
        node: FollowingNode,
        log: Callable[[str], None],
        changed: Callable[[], None],
        stop: int,
        digests: Callable[[bytes], Digests] = lambda _: {},
    ) -> None:
        """``log`` takes a line about the service; ``changed`` is called when the replica has something new; the
        replicator ends once the file descriptor ``stop`` can be read from. ``digests`` returns those of what decides
        this node's answers, given the key of the states."""
        self._node = node
        self._server = node.server
        self._replica = node.replica
        self._states = node.states
        self._log = log
        self._changed = changed
        self._stop = stop
        self._newer_schema = ""
        self._disk_fault = ""
        # The start has logged that it is away; a replicator that takes the place of a dead one may find it long back.
        not_reached = node.not_reached
        self._is_away = not_reached is not None and self._replica.position().asked < not_reached
        self._is_prepared = False
        self._next_report = 0.0
        self._refused_log = FaultLog(log)
        self._states_log = FaultLog(log)
        self._digests = digests
        self._differences = FaultLog(log, "all nodes have the same settings and secrets for their answers again")

    def run(self) -> None:
        pause = 0.0
        while not self._waits_to_stop(pause):
            try:
                self._follow()
                return
            except _FAULTS as error:
                was_connected = not self._is_away
                self._note_away(error)
                self._judge_fault(error)
                self._note_refused()
                grown = FIRST_RETRY_SECONDS if pause == 0.0 else min(pause * 2, LONGEST_RETRY_SECONDS)
                pause = 0.0 if was_connected else grown

    def _follow(self) -> None:
        """Bring the replica up to date for as long as the connection holds. Returns when ``stop`` can be read from."""
        database = self._server.connect(READ_SECONDS)
        self._note_refused()
        try:
            if not self._is_prepared:
                # Once in a process: during an upgrade a newer node may have added to the schema meanwhile.
                with self._server.faults("opened"):
                    migrate_postgres(database, self._server.described)
                self._is_prepared = True
            listens = self._listen(database)
            while True:
                with self._replica.faults_beside(self._server, "read"):
                    refuse_newer_postgres(database, self._server.described)
                    self._restore_replica()
                    self._replica.require_newest(database)
                    self._exchange(database)  # first: a machine must not install twice
                    if self._replica.bring_up_to_date(database):
                        self._changed()
                self._report(database)
                self._note_back()
                if self._waits(database if listens else None, POLL_SECONDS):
                    return
        finally:
            with suppress(*_FAULTS):
                database.close()

    def _exchange(self, database: peewee.PostgresqlDatabase) -> None:
        """Keep the states of installs equal to the database's. A fault of the node's own file is logged, once."""
        try:
            exchange(self._states, database, self._states_log.note)
            self._states_log.note("")
        except StoreFull:
            raise
        except StoreError as error:
            self._states_log.note(f"warning: the states of installs are not kept equal to the database's: {error}")

    def _report(self, database: peewee.PostgresqlDatabase) -> None:
        """Have the list of nodes show this one. A standby takes no report: what is wrong is met by the next read."""
        if time.monotonic() < self._next_report:
            return
        is_first, self._next_report = self._next_report == 0.0, time.monotonic() + REPORT_SECONDS
        with suppress(*_FAULTS):
            waiting = self._states.waiting()
            report = NodeReport(
                socket.gethostname(),
                __version__,
                self._replica.position().revision or 0,
                waiting.messages if waiting is not None else 0,
                self._own_digests(),
            )
            report_node(database, self._states.source(), report)
            differences = differences_of(nodes_in(database))
            self._differences.note(f"warning: {'. '.join(differences)}" if differences else "")
            if is_first:
                forget_silent_nodes(database)

    def _own_digests(self) -> Digests:
        try:
            return self._digests(self._states.key())
        except StoreError:  # the key is the database's, and was never read
            return {}

    def _listen(self, database: peewee.PostgresqlDatabase) -> bool:
        """Ask for notices; return False where the server has none to give."""
        try:
            connection = raw_connection(database)
            connection.autocommit = True
            execute(database, f"LISTEN {CHANNEL}")
        except peewee.PeeweeException:
            return False
        return True

    def _waits(self, database: peewee.PostgresqlDatabase | None, seconds: float) -> bool:
        """Wait for a notice or the end of the pause; return whether to stop."""
        listening = self._server.descriptor(database) if database is not None else None
        own = self._states.wake_up_descriptor
        watched = [descriptor for descriptor in (self._stop, own, listening) if descriptor is not None]
        readable, _, _ = select.select(watched, [], [], seconds)
        if self._stop in readable:
            return True
        if own in readable:
            self._states.take_wake_ups()
        if database is not None and listening in readable:
            self._server.take_notices(database)
        return False

    def _waits_to_stop(self, seconds: float) -> bool:
        spread = seconds * random.uniform(0.8, 1.2)  # noqa: S311 - nodes that lost one database come back one by one
        return bool(select.select([self._stop], [], [], spread)[0])

    def _note_away(self, error: Exception) -> None:
        self._node.away.set(str(error))
        if not self._is_away:
            self._log(f"warning: {error}; answers come from the replica {self._replica.file.path}")
        self._is_away = True

    def _judge_fault(self, error: Exception) -> None:
        """Have this node take no write while the database has a newer schema, or the disk is full.

        The disk is tried here, because nothing else is written to it while the database is away.
        """
        if isinstance(error, NewerSchema):
            self._newer_schema = f"{error}; until then this node answers from its replica and takes no write"
        try:
            self._restore_replica()
            self._replica.note_newer_schema(self._newer_schema)
            self._disk_fault = ""
        except StoreFull as full:
            self._disk_fault = str(full)
        except StoreError:
            pass
        self._node.refused.set(self._newer_schema or self._disk_fault)

    def _restore_replica(self) -> None:
        if self._replica.restore():
            self._log(f"warning: the replica {self._replica.file.path} was removed: it is made again")

    def _note_refused(self) -> None:
        """Log a server that is not used because it is older, once."""
        refused = self._server.refused
        self._refused_log.note(f"warning: the database {self._server.described}: {refused}" if refused else "")

    def _note_back(self) -> None:
        self._node.away.set("")
        if self._is_away:
            self._log(f"the database {self._server.described} can be reached again")
        self._is_away = False
        if self._newer_schema or self._disk_fault:
            self._newer_schema = self._disk_fault = ""
            self._replica.note_newer_schema("")
            self._node.refused.set("")

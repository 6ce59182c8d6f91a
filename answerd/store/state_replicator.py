"""Keeps a node's states of installs and the database's equal: delivers the outbox, and merges the evidence of other
nodes.

Rules: docs/many-nodes.md#states-of-installs. Plain blocking code, for the replicator's process. Knows in what order
things happen; must not know connections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import peewee

from answerd.identity import identity_of
from answerd.installs.states import Rules
from answerd.store import StoreError
from answerd.store.database_installs import (
    InstallsPosition,
    current_position,
    is_in_history,
    parts_since,
    receive,
    shared_key,
)
from answerd.store.evidence_batch import MachineEvidence
from answerd.store.node_installs import NodeInstallStore, drained
from answerd.store.outbox import Message, deliver, last_received

NAMES_AT_ONCE = 500


class StateReplicator:
    """Brings the states of a node and of the database together, with the connection that it is given."""

    def __init__(
        self,
        node: NodeInstallStore,
        rules: Rules,
        log: Callable[[str], None],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """``log`` takes a line about the service; ``changed`` is called when something changed here."""
        self._node = node
        self._changed = changed
        self._rules = rules
        self._log = log
        self._fault: str | None = None
        self._has_key = False

    def bring_up_to_date(self, database: peewee.Database) -> bool:
        """Deliver the waiting messages, then merge the new evidence; return whether anything changed here. Raises what
        the database's engine raises; messages delivered and evidence merged before stay so. A fault of the node's own
        file is logged, and the next call tries again.
        """
        try:
            if not self._has_key and not self._take_key(database):
                return False
            self._deliver(database)
            has_changed = self._merge(database)
            if has_changed:
                self._changed()
                self._deliver(database)  # evidence that only this node had
        except StoreError as error:
            self._log_once(f"warning: the states of installs are not kept equal to the database's: {error}")
            return False
        self._fault = None
        return has_changed

    @property
    def wake_up(self) -> int:
        """A file descriptor that can be read from when there is something to deliver."""
        return self._node.wake_up

    def take_wake_ups(self) -> None:
        """Empty the pipe of wake-ups."""
        drained(self._node.wake_up)

    def _take_key(self, database: peewee.Database) -> bool:
        """Have the database and the node the same key of tokens; return whether they have."""
        own = self._node.known_key()
        with database.atomic():
            key = shared_key(database, own)
        if own is not None and own != key:
            self._log_once(
                f"warning: {self._node.path} has the states of another database: stop the service and remove the file "
                "to take those of this one; its undelivered reports are lost then"
            )
            return False
        if own is None:
            self._node.note_key(key)
        self._has_key = True
        return True

    def _deliver(self, database: peewee.Database) -> None:
        outbox = self._node.outbox
        if outbox.rewind(last_received(database, outbox.source)):
            self._node.forget_position()  # the database has lost its newest changes

        def hand_over(source: str, messages: Sequence[Message]) -> None:
            for fault in receive(database, source, messages, self._rules):
                self._log(f"warning: states of installs: {fault}; it is passed over")

        deliver(outbox, hand_over)

    def _merge(self, database: peewee.Database) -> bool:
        """Merge the evidence that this node has not seen; all evidence where the node's last revision is not in the
        database's history. Return whether there was any."""
        known = self._node.position()
        with database.atomic("REPEATABLE READ"):
            newest = current_position(database)
            if newest == known:
                return False
            is_whole = known is None or known.revision > newest.revision or not is_in_history(database, known)
            missing = self._node.names() if is_whole else set()
            has_changed, waiting = is_whole, list[MachineEvidence]()
            for part in parts_since(database, -1 if is_whole or known is None else known.revision):
                missing.difference_update(identity_of(machine.name) for machine in part)
                has_changed |= self._take(waiting, is_whole)
                waiting = part
        names = sorted(missing)
        for at in range(0, len(names), NAMES_AT_ONCE):
            self._node.enqueue_all(names[at : at + NAMES_AT_ONCE], self._rules)
        return self._take(waiting, is_whole, newest) or has_changed

    def _take(self, part: Sequence[MachineEvidence], is_whole: bool, to: InstallsPosition | None = None) -> bool:
        """Merge a part of the database's evidence, the last part with the position that is reached then."""
        machines = [(machine, None) for machine in part]
        return self._node.merge(machines, self._rules, send_back=is_whole, to=to).revision >= 0

    def _log_once(self, line: str) -> None:
        if line != self._fault:
            self._log(line)
        self._fault = line

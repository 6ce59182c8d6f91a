"""A node on PostgreSQL without its processes: what it stores, and its replicator in a thread."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from answerd.documents import Key
from answerd.installs.states import Order, Ordered, Rules
from answerd.store.install_batch import PendingEvent
from answerd.store.loader import Loader
from answerd.store.postgres import ReplicatedStore
from answerd.store.replicator import Replicator
from answerd.store.state_replicator import StateReplicator
from tests.support.writes import put

RULES = Rules()


class ThreadedNode:
    """A node; ``lines`` is what it logged. To be closed."""

    def __init__(self, url: str, path: Path) -> None:
        self.store = ReplicatedStore(url, path)
        self.states = self.store.states
        self._loader = Loader(self.store)
        self.lines: list[str] = []
        reading, self._writing = os.pipe()
        states = StateReplicator(self.states, RULES, self.lines.append)
        replicator = Replicator(
            self.store.server, self.store.replica, self.lines.append, lambda: None, reading, states=states
        )
        self._thread = threading.Thread(target=replicator.run)
        self._thread.start()

    @property
    def revision(self) -> int | None:
        """The last change that the replica has."""
        return self.store.replica.position().revision

    def write(self, key: Key, text: str) -> int:
        """Store a document; return its revision."""
        with self.store.writing() as transaction:
            stored = put(transaction, key, text)
            transaction.commit()
        return stored.revision

    def arm(self, name: str) -> int:
        """Arm a machine; return its attempt."""
        done = self.states.write([PendingEvent(name, Ordered(Order.ARM, 1.0))], RULES).applied[0]
        return done.outcome.record.attempt

    def attempts(self) -> dict[str, int]:
        """The attempts of the machines that this node knows."""
        return {one.record.name: one.record.attempt for one in self.states.all()}

    def texts(self) -> dict[Key, str]:
        """The documents that this node answers from."""
        self._loader.refresh()
        return {raw.key: raw.text for raw in self._loader.catalogue.documents}

    def close(self) -> None:
        """End its replicator."""
        os.close(self._writing)
        self._thread.join(60)
        assert not self._thread.is_alive()

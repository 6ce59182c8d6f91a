"""A node on PostgreSQL without its processes: what it stores, and its replicator in a thread."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from answerd.documents import Key
from answerd.installs.states import Order
from answerd.store.loader import Loader
from answerd.store.postgres import ReplicatedStore
from answerd.store.replicator import Replicator
from tests.support.installs import Ordered
from tests.support.states import StateWriter
from tests.support.writes import put


class ThreadedNode:
    """A node; ``lines`` is what it logged. To be closed."""

    def __init__(self, url: str, path: Path) -> None:
        self.store = ReplicatedStore(url, path)
        self.states = self.store.states
        self.writer = StateWriter(self.states)
        self._loader = Loader(self.store)
        self.lines: list[str] = []
        reading, self._writing = os.pipe()
        replicator = Replicator(self.store, self.lines.append, lambda: None, reading)
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

    def arm(self, name: str) -> str:
        """Arm a machine; return the order that began its attempt."""
        self.writer.write(name, Ordered(Order.ARM, 1.0))
        return self.attempts()[name]

    def attempts(self) -> dict[str, str]:
        """The orders that began the attempts of the machines that this node knows."""
        return {name: ", ".join(one.record.attempts) for name, one in self.writer.all().items()}

    def texts(self) -> dict[Key, str]:
        """The documents that this node answers from."""
        self._loader.refresh()
        return {raw.key: raw.text for raw in self._loader.catalogue.documents}

    def close(self) -> None:
        """End its replicator."""
        os.close(self._writing)
        self._thread.join(60)
        assert not self._thread.is_alive()

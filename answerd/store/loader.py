"""The loader: makes the next catalogue from a store's changes, and keeps everything that did not change.

Split in two: `poll` waits for files or the database and touches nothing else, `apply` computes and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from answerd.answers.catalogue import Catalogue
from answerd.store import Changes, Store


class Loader:
    """The answer set in force. ``catalogue`` is replaced in one assignment, never edited."""

    def __init__(self, store: Store, *, has_states: bool = False, columns: Mapping[str, str] | None = None) -> None:
        """``has_states``: the service keeps states of installs. ``columns``: see `Catalogue`."""
        self.store = store
        self.catalogue = Catalogue(has_states=has_states, columns=columns or {})

    def poll(self) -> Changes | None:
        """Return the changes in the store. May block. Raises `answerd.store.StoreError`; then nothing changes."""
        return self.store.changes()

    def apply(self, changes: Changes) -> None:
        """Put changes in force."""
        self.catalogue = self.catalogue.changed(changes.added, changes.removed, changes.unlisted, faults=changes.faults)

    def refresh(self) -> bool:
        """`poll` and `apply`; return whether anything changed. Raises `answerd.store.StoreError`."""
        changes = self.poll()
        if changes is not None:
            self.apply(changes)
        return changes is not None


def loaded(store: Store, *, has_states: bool = False, columns: Mapping[str, str] | None = None) -> Catalogue:
    """Return the catalogue of a store as it is now, for a command that reads it once. Raises
    `answerd.store.StoreError`."""
    loader = Loader(store, has_states=has_states, columns=columns)
    loader.refresh()
    return loader.catalogue

"""The answer set that is loaded from a store."""

from __future__ import annotations

from answerd.answers.catalogue import Catalogue
from answerd.store import Store


class Loader:
    """The answer set in force. ``catalogue`` is replaced in one assignment, never edited."""

    def __init__(self, store: Store, *, has_states: bool = False) -> None:
        """``has_states``: the service keeps states of installs."""
        self.store = store
        self.catalogue = Catalogue(has_states=has_states)

    def refresh(self) -> bool:
        """Put what changed in the store in force; return whether anything did. May block. Raises
        `answerd.store.StoreError`; then nothing changes."""
        changes = self.store.changes()
        if changes is not None:
            self.catalogue = self.catalogue.changed(changes.added, changes.removed, faults=changes.faults)
        return changes is not None


def loaded(store: Store, *, has_states: bool = False) -> Catalogue:
    """Return the catalogue of a store as it is now, for a command that reads it once. Raises
    `answerd.store.StoreError`."""
    loader = Loader(store, has_states=has_states)
    loader.refresh()
    return loader.catalogue

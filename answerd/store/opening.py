"""The stores by name: one line each."""

from __future__ import annotations

from collections.abc import Callable

from answerd.config import Config
from answerd.store import Store
from answerd.store.files import FileStore
from answerd.store.sqlite import SqliteStore

STORES: dict[str, Callable[[Config], Store]] = {
    "files": lambda config: FileStore(config.answers_dir),
    "sqlite": lambda config: SqliteStore(config.db_path),
}
"""What each value of ``SERVICE_STORE`` opens."""


def open_store(config: Config) -> Store:
    """The store that the configuration names. Raises `answerd.store.StoreError` when it cannot be opened."""
    return STORES[config.store](config)

"""The stores by the values of ``SERVICE_STORE``: opening one for a command, or for a node that answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from answerd.config import Config
from answerd.installs.states import Rules
from answerd.short_texts import printable
from answerd.store import NewerSchema, Store, StoreAway, StoreError
from answerd.store.files import FileStore

if TYPE_CHECKING:
    from answerd.store.postgres import PostgresStore
    from answerd.store.states import StateFile, States

# Each store is imported where it is opened: a command on a directory of files is not to wait for peewee, which imports
# psycopg where that is installed.


def open_store(config: Config, *, to_serve: bool = False) -> Store:
    """Open the store that the configuration names, and create it where it may be created.

    ``to_serve``: for a node that answers, which with a database that nodes share follows its replica. Raises
    `answerd.store.StoreError` when it cannot be opened.
    """
    if config.store == "files":
        return FileStore(config.answers_dir)
    if config.store == "sqlite":
        from answerd.store.sqlite import SqliteStore  # noqa: PLC0415

        return SqliteStore(config.db_path)
    if not to_serve:
        return _postgres(config)
    from answerd.store.postgres import ReplicatedStore  # noqa: PLC0415

    if config.replica_path is None:
        raise StoreError("SERVICE_REPLICA_PATH must name a file for this node's copy of the database")
    store = ReplicatedStore(_url(config), Path(config.replica_path), install_rules(config))
    store.replica.own()
    return store


def _postgres(config: Config) -> PostgresStore:
    from answerd.store.postgres import PostgresStore  # noqa: PLC0415

    return PostgresStore(_url(config))


def _url(config: Config) -> str:
    from answerd.store.postgres_connection import url_fault  # noqa: PLC0415

    if config.db_url is None:
        raise StoreError("SERVICE_DB_URL or SERVICE_DB_URL_FILE must name the database")
    fault = url_fault(config.db_url)
    if fault:
        raise StoreError(f"{'SERVICE_DB_URL_FILE' if config.db_url_file else 'SERVICE_DB_URL'}: {fault}")
    return config.db_url


def install_rules(config: Config) -> Rules:
    """Return the limits of installs that the settings give."""
    return Rules(
        grace=config.install_grace_seconds,
        start=config.install_start_seconds,
        starts=config.install_starts,
        silence=config.install_seconds,
    )


def open_states(config: Config, store: Store) -> tuple[StateFile | None, list[str]]:
    """Open the states of installs for the service, beside its store, and return warnings about them.

    None where there is no place for them. Raises `answerd.store.StoreError`.
    """
    if config.store == "files":
        if config.state_path is None:
            return None, []
        from answerd.store.states import open_state_file  # noqa: PLC0415

        states, was_made = open_state_file(config.state_path, install_rules(config))
        made = f"{states.path} was made new: no machine is known to be installed, so every machine may install"
        return states, [made] if was_made else []
    unused = ["SERVICE_STATE_PATH has no effect: the states are in the database"] if config.state_path else []
    if config.store == "sqlite":
        return _states_in(config), unused
    from answerd.store.postgres import ReplicatedStore  # noqa: PLC0415

    return (store.states if isinstance(store, ReplicatedStore) else None), unused


def open_existing_states(config: Config, beside: Store | None = None) -> States | None:
    """Open the states of installs for a command, which makes no file. None where there is no place for them.

    ``beside`` is the store that the command reads: where that is the replica of this machine's node, the states are
    those of the node. Raises `answerd.store.StoreError` where they are not there or cannot be read.
    """
    if config.store == "sqlite":
        require_database(config.db_path)
        open_store(config)  # which brings the schema up to date
        return _states_in(config)
    if config.store == "postgres":
        from answerd.store.postgres import ReplicaReader  # noqa: PLC0415
        from answerd.store.state_sync import DatabaseStates  # noqa: PLC0415

        if isinstance(beside, ReplicaReader):
            return beside.states(_postgres(config).server, install_rules(config))
        return DatabaseStates(_existing_postgres(config).server, install_rules(config), config.replica_path)
    if config.state_path is None:
        return None
    if not Path(config.state_path).exists():
        from answerd.store.states import LOST  # noqa: PLC0415

        shown = printable(config.state_path)
        raise StoreError(
            f"the file of states {shown}, which SERVICE_STATE_PATH names, does not exist. The first start of a service "
            f"makes it; where it was there before: {LOST}"
        )
    from answerd.store.states import open_state_file  # noqa: PLC0415

    return open_state_file(config.state_path, install_rules(config))[0]


def _states_in(config: Config) -> StateFile:
    from answerd.store.sqlite import SqliteFile  # noqa: PLC0415
    from answerd.store.states import StateFile  # noqa: PLC0415

    return StateFile(SqliteFile(config.db_path), install_rules(config))


def open_existing(config: Config) -> Store:
    """Open the store that the configuration names, for a command that reads it.

    Raises `answerd.store.StoreError` when it is not there or cannot be read: an absent store is no empty one.
    """
    if config.store == "sqlite":
        require_database(config.db_path)
    elif config.store == "postgres":
        return _readable_postgres(config)
    store = open_store(config)
    fault = store.fault() if isinstance(store, FileStore) else None
    if fault:
        raise StoreError(f"{fault}: SERVICE_ANSWERS_DIR names it")
    return store


def open_existing_database(config: Config) -> Store:
    """Open the database of the settings, for a command that reads it: ``SERVICE_DB_PATH`` also with the file store.

    Raises `answerd.store.StoreError` when it is not there or cannot be read.
    """
    return open_existing(config if config.store == "postgres" else replace(config, store="sqlite"))


def open_database(config: Config) -> Store:
    """Open the database of the settings, for a command that writes it: ``SERVICE_DB_PATH`` also with the file store.

    A missing file or missing tables are made. Raises `answerd.store.StoreError`.
    """
    return open_postgres(config) if config.store == "postgres" else open_store(replace(config, store="sqlite"))


def open_postgres(config: Config) -> PostgresStore:
    """Open the database that nodes share, for a command that writes it; make its tables. Raises
    `answerd.store.StoreError`."""
    store = _postgres(config)
    store.prepare()
    return store


def _existing_postgres(config: Config) -> PostgresStore:
    store = _postgres(config)
    store.require_prepared()
    return store


def _readable_postgres(config: Config) -> Store:
    """Open the database that nodes share for reading; the replica of this machine's node while it is away."""
    from answerd.store.postgres import ReplicaReader  # noqa: PLC0415

    try:
        return _existing_postgres(config)
    except NewerSchema:
        raise
    except StoreAway as away:
        if config.replica_path is None or not Path(config.replica_path).exists():
            raise
        return ReplicaReader(Path(config.replica_path), away)


def require_database(path: str) -> None:
    """Raise `answerd.store.StoreError` where there is no database at ``path``: opening it would create one."""
    shown = printable(path)
    try:
        size = Path(path).stat().st_size
    except FileNotFoundError:
        raise StoreError(
            f"the database {shown} does not exist: SERVICE_DB_PATH names it; serve, import, apply and restore make it"
        ) from None
    except OSError as error:
        raise StoreError(f"the database {shown} cannot be opened: {error.strerror}") from None
    if not size:
        raise StoreError(f"the database {shown} is an empty file: SERVICE_DB_PATH names it; serve and import fill it")

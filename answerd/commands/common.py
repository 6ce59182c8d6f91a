"""Functions that several commands share: opening the documents that the settings or an argument name, and reading
files."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from answerd.answers.assumed import assumed_gates
from answerd.answers.catalogue import Catalogue
from answerd.answers.sources import NO_SOURCES, Sources
from answerd.commands import FAILED, WRONG_USAGE, CommandError
from answerd.commands.terminal import counted, printable_line
from answerd.config import ENV_FILE, ConfigError, read_config
from answerd.installs.states import State
from answerd.store import Store, StoreError
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from answerd.store.opening import open_existing
from answerd.store.secrets import SecretFiles, sources_of, unreadable_to_others

SYSTEM_ENV_FILE = Path("/etc/answerd.env")
"""The path of the service's settings in the packages."""


def read_documents(directory: str | None = None) -> tuple[Store, Catalogue]:
    """Open the store and load it, and print its name to standard error.

    ``directory`` is one that the command line names; None for the store of the settings. Raises `CommandError`, with
    status 2 for a directory of the command line that is not there; `ConfigError`; `StoreError`.
    """
    store = named_directory(directory) if directory is not None else configured_store()
    catalogue = catalogue_of(store)
    announce_store(store, catalogue.size)
    return store, catalogue


def announce_store(store: Store, documents: int) -> None:
    """Print the name of the store that a command reads, and how many documents it has, to standard error."""
    print(f"# store: {printable_line(store.described)}, {counted(documents, 'document')}", file=sys.stderr)


def catalogue_of(store: Store) -> Catalogue:
    """Return the documents of a store as the service would read them: with the settings, where they can be read."""
    try:
        config = read_config(os.environ, to_serve=False)
    except ConfigError:
        return loaded(store)
    return loaded(store, has_states=config.has_states, columns=config.labels_of_columns)


def inventory_columns() -> Mapping[str, str]:
    """Return the labels that the settings give to columns with other names."""
    try:
        return read_config(os.environ, to_serve=False).labels_of_columns
    except ConfigError:
        return {}


def configured_store() -> Store:
    """Open the store that the settings name. Raises `ConfigError`, `StoreError`: it is absent or cannot be read."""
    try:
        return open_existing(read_config(os.environ, to_serve=False))
    except StoreError as error:
        raise StoreError(f"{error}{unread_env_file()}") from None
    except ConfigError as error:
        raise ConfigError(f"{error}{unread_env_file()}") from None


def configured_sources(state: State = State.ARMED, *, by_directory: bool = False) -> Sources:
    """Return the sources of placeholder values: the secrets that the settings name, whose warnings are printed; and,
    where there is a place for states, gates at which every machine has the same state.

    ``by_directory``: the command line names the documents, so settings that cannot be read are as if there were none.
    Raises `ConfigError`.
    """
    try:
        config = read_config(os.environ, to_serve=False)
    except ConfigError:
        if by_directory:
            return NO_SOURCES
        raise
    secrets = SecretFiles(config.secrets_dir)
    for warning in filter(None, (*secrets.warnings(), unreadable_to_others(secrets))):
        print(f"# warning: {printable_line(warning)}", file=sys.stderr)
    sources = sources_of(secrets)
    return replace(sources, gates=assumed_gates(config.own_url, state, time.time())) if config.has_states else sources


def unread_env_file() -> str:
    """Return the advice to name the service's settings, where they exist and were not read."""
    if os.environ.get(ENV_FILE, "").strip() or not SYSTEM_ENV_FILE.exists():
        return ""
    return f"; {SYSTEM_ENV_FILE} exists and was not read: set {ENV_FILE}={SYSTEM_ENV_FILE} to use its settings"


def named_directory(name: str) -> FileStore:
    """Open a directory of documents that the command line names. Raises `CommandError`."""
    store = FileStore(name)
    fault = store.fault()
    if fault:
        raise CommandError(fault, FAILED if Path(name).is_dir() else WRONG_USAGE)
    return store


def read_bytes(name: str) -> bytes:
    """Return a file's content; ``-`` is standard input. Raises `CommandError`, with status 2 where there is no such
    file."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}", WRONG_USAGE) from None


def state_named(text: str | None, words: Sequence[str] = tuple(State)) -> str | None:
    """Return the command line's word for a state, which is one of ``words``; None where there is none. Raises
    `CommandError`."""
    if text is None:
        return None
    if text.lower() not in words:
        raise CommandError(f"--state {text!r} is no state; there are {', '.join(words)}", WRONG_USAGE)
    return text.lower()

"""The settings of a command, and the store and documents that they or an argument name."""

from __future__ import annotations

import os
import time
from collections.abc import Set
from dataclasses import replace
from functools import partial
from pathlib import Path

from answerd.answers.assumed import assumed_gates
from answerd.answers.catalogue import Catalogue
from answerd.answers.last_words import NO_WORDS, LastWords
from answerd.answers.sources import FINGERPRINT, NO_SOURCES, Sources
from answerd.commands import FAILED, WRONG_USAGE, CommandError
from answerd.commands.terminal import counted, say
from answerd.config import ENV_FILE, Config, ConfigError, read_config
from answerd.errors import CannotFill
from answerd.installs.states import State
from answerd.server.certificate import Certificate, CertificateError, configured_certificate
from answerd.store import Store, StoreError
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from answerd.store.opening import open_existing, open_existing_states
from answerd.store.secrets import SecretFiles, sources_of, unreadable_to_others
from answerd.store.states import words_known

SYSTEM_ENV_FILE = Path("/etc/answerd.env")
"""The path of the service's settings in the packages."""


def settings() -> Config:
    """Return the settings of a command, which needs no token of the service. Raises `ConfigError`."""
    return read_config(os.environ, to_serve=False)


def read_documents(directory: str | None = None) -> tuple[Store, Catalogue]:
    """Open the store and load it, and print its name to standard error; with the advice to name the service's settings,
    where these are not read and there is no place for states of installs.

    ``directory`` is one that the command line names; None for the store of the settings. Raises `CommandError`, with
    status 2 for a directory of the command line that is not there; `ConfigError`; `StoreError`.
    """
    store = named_directory(directory) if directory is not None else configured_store()
    catalogue = catalogue_of(store)
    announce_store(store, catalogue.size)
    if directory is None and not settings().has_states and (advice := unread_env_file()):
        say(f"# warning{advice.replace(';', ':', 1)}")  # else the documents would lack a setting that the service has
    return store, catalogue


def announce_store(store: Store, documents: int | None = None) -> None:
    """Print the name of the store that a command reads, and how many documents it has, to standard error."""
    number = len(store.keys()) if documents is None else documents
    say(f"# store: {store.described}, {counted(number, 'document')}")


def catalogue_of(store: Store) -> Catalogue:
    """Return the documents of a store as the service would read them: with the settings, where they can be read."""
    try:
        config = settings()
    except ConfigError:
        return loaded(store)
    return loaded(store, has_states=config.has_states)


def configured_store() -> Store:
    """Open the store that the settings name. Raises `ConfigError`, `StoreError`: it is absent or cannot be read."""
    try:
        return open_existing(settings())
    except (StoreError, ConfigError) as error:
        raise type(error)(f"{error}{unread_env_file()}") from None


def configured_sources(state: State = State.ARMED, *, by_directory: bool = False) -> Sources:
    """Return the sources of placeholder values: the secrets that the settings name, whose warnings are printed; and,
    where there is a place for states, gates at which every machine has the same state.

    ``by_directory``: the command line names the documents, so settings that cannot be read are as if there were none.
    Raises `ConfigError`.
    """
    try:
        config = settings()
    except ConfigError:
        if by_directory:
            return NO_SOURCES
        raise
    secrets = SecretFiles(config.secrets_dir)
    for warning in filter(None, (*secrets.warnings(), unreadable_to_others(secrets))):
        say(f"# warning: {warning}")
    sources = replace(sources_of(secrets), certificate=partial(_own_certificate, config))
    return replace(sources, gates=assumed_gates(config.own_url, state, time.time())) if config.has_states else sources


def _own_certificate(config: Config) -> Certificate | None:
    try:
        return configured_certificate(config)
    except CertificateError as error:
        raise CannotFill(str(error), FINGERPRINT, missing=False) from None


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


def last_words(store: Store, of: Set[str] | None = None, *, beside_settings: bool = True) -> LastWords:
    """Return what machines last said to the service of the settings, as `words_known` does; nothing where the documents
    are not those of the settings."""
    config = settings()
    if not beside_settings or not config.has_states:
        return NO_WORDS
    try:
        return words_known(open_existing_states(config, store), of)
    except StoreError:  # the service says it
        return NO_WORDS

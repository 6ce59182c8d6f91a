"""What several commands share: the settings, and the store and documents that they or an argument name; output without
control characters, tables, colours, a progress bar."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from answerd.answers.assumed import assumed_gates
from answerd.answers.catalogue import Catalogue
from answerd.answers.last_words import NO_WORDS, LastWords
from answerd.answers.sources import FINGERPRINT, NO_SOURCES, Sources
from answerd.commands import FAILED, WRONG_USAGE, CommandError
from answerd.config import ENV_FILE, Config, ConfigError, read_config
from answerd.errors import CannotFill
from answerd.installs.states import State
from answerd.server.certificate import Certificate, CertificateError, configured_certificate
from answerd.short_texts import printable
from answerd.store import Progress, Store, StoreError, no_progress
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from answerd.store.opening import open_existing, open_existing_states
from answerd.store.secrets import SecretFiles, sources_of, unreadable_to_others
from answerd.store.states import words_known
from answerd.suggestion import did_you_mean

SYSTEM_ENV_FILE = Path("/etc/answerd.env")
"""The path of the service's settings in the packages."""

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1"}


# --- settings and documents ------------------------------------------------------------------------------------------


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


# --- the command line ------------------------------------------------------------------------------------------------


def read_bytes(name: str) -> bytes:
    """Return a file's content; ``-`` is standard input. Raises `CommandError`, with status 2 where there is no such
    file."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}", WRONG_USAGE) from None


def state_named(text: str) -> State:
    """Return the state that the command line names. Raises `CommandError`."""
    try:
        return State(text.lower())
    except ValueError:
        raise CommandError(f"--state {text!r} is no state; there are {', '.join(State)}", WRONG_USAGE) from None


def one_of(what: str, text: str, known: Iterable[str]) -> None:
    """Raise `CommandError` where ``text`` is none of the known names of ``what``."""
    names = list(known)
    if text not in names:
        near = did_you_mean(text, names, shown=str)
        raise CommandError(f"no such {what}: the {what}s are {', '.join(names)}{near}", WRONG_USAGE)


MOST_DIGITS = 18
"""Digits of a number on the command line: every such number fits the integers of a database."""


def whole_number(option: str, text: str) -> int:
    """Return the command line's whole number above zero. Raises `CommandError`."""
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and int(text)):
        raise CommandError(f"{option} is a whole number above zero, of at most {MOST_DIGITS} digits", WRONG_USAGE)
    return int(text)


def said_yes(question: str) -> bool:
    """Ask a person. No answer, because the input has ended, is a no."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


# --- output ----------------------------------------------------------------------------------------------------------


def printable_line(text: str) -> str:
    """Return a line of text without control characters; a tab stays a tab."""
    return "\t".join(map(printable, text.split("\t")))


def say(line: str) -> None:
    """Print a line to standard error, without control characters."""
    print(printable_line(line), file=sys.stderr)


def say_each(what: str, parts: Iterable[tuple[str, str]]) -> None:
    """Say of each part what happened to it, and why."""
    for name, why in parts:
        say(f"{what}: {name}: {why}")


def counted(number: int, word: str) -> str:
    """Return a number with its noun: ``1 document``, ``140 documents``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def print_json(value: Any) -> None:
    """Print a value as JSON: readable where the output is UTF-8, else with escapes, which any encoding can hold."""
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").replace("_", "") == "utf8"
    print(json.dumps(value, indent=2, ensure_ascii=not is_utf8))


def print_table(rows: Sequence[Sequence[str]], colours: Sequence[str] = (), widest: int | None = None) -> None:
    """Print rows without control characters, with columns of one width, each row in its colour, where it has one.

    A cell that is longer than ``widest`` moves those after it.
    """
    lines = [[printable_line(cell) for cell in row] for row in rows]
    widths = [min(max(map(len, cells)), widest or sys.maxsize) for cells in zip(*lines, strict=True)]
    for cells, colour in zip_longest(lines, colours):
        line = "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
        print(coloured(line, colour) if colour else line)


def coloured(text: str, colour: str) -> str:
    """Return ``text`` in a colour where standard output is a terminal that shows colours.

    ``NO_COLOR`` set to anything, and ``TERM=dumb``, mean no colours (no-color.org).
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return text
    return f"\033[{_COLOURS[colour]}m{text}\033[0m"


def diff_line(line: str) -> str:
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return coloured(printable_line(line), colour) if colour else printable_line(line)


def last_words(store: Store, *, beside_settings: bool = True) -> LastWords:
    """Return what machines last said to the service of the settings; nothing where that is not kept or cannot be
    read, or where the documents are not those of the settings."""
    config = settings()
    if not beside_settings or not config.has_states:
        return NO_WORDS
    try:
        return words_known(open_existing_states(config, store))
    except StoreError:  # the service says it
        return NO_WORDS


def progress(unit: str) -> Progress:
    """Return a function that shows a progress bar where standard error is a terminal."""
    if not sys.stderr.isatty():
        return no_progress
    from tqdm import tqdm  # noqa: PLC0415 - only a terminal needs it

    bar = tqdm(unit=f" {unit}", leave=False, delay=1)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return show

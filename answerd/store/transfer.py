"""Import and export: a directory into the database, and the database into a directory.

Rules: docs/cli.md#import-export; the layout: docs/formats.md#the-files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from answerd.answers.problems import load_problems
from answerd.documents import Key, RawDocument
from answerd.identity import Kind
from answerd.short_texts import printable
from answerd.store import NOBODY, Author, Changes, Progress, Store, StoreError, no_progress
from answerd.store.file_io import make_directories, write_atomically
from answerd.store.files import FileStore
from answerd.store.layout import flat_name
from answerd.store.loader import loaded


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The result of an import. ``taken`` documents of the directory are stored: ``new``, ``changed`` or ``unchanged``
    compared with what was stored under their identity and format. ``removed`` counts those that the directory does not
    have, and that were removed because pruning was asked for. ``skipped`` are files that are no documents,
    ``unreadable`` documents whose text cannot be stored; both with their name below the directory and why. ``problems``
    are those of the answer set as it is now. ``installs`` is how many states of installs the source has: those are not
    copied.
    """

    new: int
    changed: int
    unchanged: int
    removed: int
    skipped: tuple[tuple[str, str], ...]
    unreadable: tuple[tuple[str, str], ...]
    problems: tuple[str, ...]
    installs: int = 0

    @property
    def taken(self) -> int:
        """How many documents of the directory are in the database now."""
        return self.new + self.changed + self.unchanged


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """The result of an export: the number of documents ``written``, and those that cannot be a file, with the
    reason."""

    written: int
    skipped: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Directory:
    """The documents of a directory: those that can be stored, and the other files.

    ``documents`` have different identities or formats. ``skipped`` are files that are no documents, ``unreadable``
    documents whose text cannot be stored; both with their name below the directory and why. ``named`` are kind,
    identity and format of all that the directory has, unreadable or not.
    """

    documents: tuple[RawDocument, ...]
    skipped: tuple[tuple[str, str], ...]
    unreadable: tuple[tuple[str, str], ...]
    named: frozenset[tuple[Kind, str, str]]


def read_directory(directory: str | Path, *, follow_links: bool = False) -> Directory:
    """Read the documents of a directory. ``follow_links``: also those of links that lead out of it; else they are
    unreadable. Raises `StoreError`: it or a part of it cannot be listed, or two files are for one identity and
    format."""
    store, found = _documents_below(Path(directory), follow_links=follow_links)
    faults = {raw.source: raw.key.fault for raw in found}
    named = sorted((raw for raw in found if not faults[raw.source]), key=lambda raw: raw.source)
    _refuse_duplicates(named)
    return Directory(
        tuple(raw for raw in named if raw.fault is None),
        tuple(sorted({**store.ignored, **{source: fault for source, fault in faults.items() if fault}}.items())),
        tuple((raw.source, raw.fault.removesuffix(f" ({printable(raw.source)})")) for raw in named if raw.fault),
        frozenset(raw.key.name for raw in found),
    )


def import_directory(
    directory: str | Path,
    store: Store,
    progress: Progress = no_progress,
    *,
    prune: bool = False,
    author: Author = NOBODY,
    follow_links: bool = False,
) -> ImportSummary:
    """Copy the documents of a directory into the database, in one transaction, whatever problems they have.

    A document takes the place of the one with its identity and format, whose spelling stays; all others stay too,
    unless ``prune`` is given: then those that the directory does not have are removed. A document of the directory
    that cannot be read keeps the one that is stored. Raises `StoreError`, and then nothing was imported: the directory
    cannot be read (`read_directory`), has no document although ``prune`` is given, or the database cannot be written.
    ``follow_links``: see `read_directory`.
    """
    found = read_directory(directory, follow_links=follow_links)
    return import_found(found, str(directory), store, progress, prune=prune, author=author)


def import_found(
    found: Directory,
    source: str,
    store: Store,
    progress: Progress = no_progress,
    *,
    prune: bool = False,
    author: Author = NOBODY,
) -> ImportSummary:
    """Store documents that were found in ``source`` (`import_directory`). Raises `StoreError`."""
    if prune and not found.named:
        raise StoreError(
            f"nothing was imported: {printable(source)} has no document, so pruning would remove all those of "
            "the database; is its file system mounted?"
        )
    with store.writing(author) as transaction:  # its lock keeps the documents as they are
        removed = [key for key in store.keys(None) if key.name not in found.named] if prune else []
        written = transaction.write(found.documents, removed, progress=progress)
        transaction.commit()
    problems = load_problems(loaded(store, has_states=True))  # a database keeps the states too
    return ImportSummary(
        len(written.new),
        len(written.changed),
        len(written.unchanged),
        len(written.removed),
        found.skipped,
        found.unreadable,
        tuple(problems),
    )


def export_directory(
    store: Store, directory: str | Path, *, force: bool = False, progress: Progress = no_progress
) -> ExportSummary:
    """Write every document as a file of the flat layout, byte for byte as it is stored.

    The directory is created where it is missing. Raises `StoreError`: it is not empty (with ``force``, files of the
    same names are replaced and all others stay), another file there has the same document, or it cannot be written.
    Each file is replaced at once or not at all. New files have mode 0600 and new directories 0700; a file that is
    replaced keeps its mode.
    """
    root = Path(directory)
    _refuse_full(root, force)
    files, skipped, written = {}, [], 0
    for stored in store.all():
        fault = _export_fault(stored.key, stored.body)
        if fault:
            skipped.append((str(stored.key), fault))
        else:
            files[flat_name(stored.key)] = stored
    if force:
        _refuse_clashes(root, {name: stored.key for name, stored in files.items()})
    try:
        make_directories(root)
        for name, stored in files.items():
            _refuse_link(root, name)
            write_atomically(root / name, stored.body)
            written += 1
            progress(written, len(files))
    except OSError as error:
        place, left = printable(str(error.filename or root)), f"{written} of {len(files)} documents were written"
        raise StoreError(f"{place} cannot be written: {error.strerror}; {left}") from None
    return ExportSummary(len(files), tuple(skipped))


def _documents_below(root: Path, *, follow_links: bool = True) -> tuple[FileStore, tuple[RawDocument, ...]]:
    """Return everything in a directory that counts as a document. Raises `StoreError` where a part of it cannot be
    listed."""
    try:
        os.listdir(root)
    except OSError as error:
        raise StoreError(f"{printable(str(root))} cannot be read: {error.strerror}") from None
    store = FileStore(root, follows_links=follow_links)
    try:
        changes = store.changes() or Changes()
    except StoreError as error:
        raise StoreError(f"{printable(str(root))}: {error}") from None
    return store, changes.added


def _refuse_duplicates(documents: list[RawDocument]) -> None:
    """Raise `StoreError` with the files that have the same identity and format."""
    sources: dict[tuple[Kind, str, str], list[str]] = {}
    for raw in documents:
        sources.setdefault(raw.key.name, []).append(raw.source)
    duplicates = [" and ".join(map(printable, names)) for names in sources.values() if len(names) > 1]
    if duplicates:
        raise StoreError(f"nothing was imported: two files for one identity and format: {'; '.join(duplicates)}")


def _export_fault(key: Key, body: bytes) -> str | None:
    """Return why a document cannot become a file. Another program may have stored what this program would not have."""
    if key.fault:
        return key.fault
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "its text is not UTF-8"
    return None


def _refuse_full(root: Path, force: bool) -> None:
    try:
        entries = os.listdir(root)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{printable(str(root))} cannot be read: {error.strerror}") from None
    if entries and not force:
        raise StoreError(
            f"{printable(str(root))} is not empty: choose another directory, or --force to replace files of the same "
            "names"
        )


def _refuse_link(root: Path, name: str) -> None:
    """Raise `StoreError` where a directory of the layout is a link: what is written must stay below ``root``."""
    folder, _, _ = name.rpartition("/")
    if folder and (root / folder).is_symlink():
        raise StoreError(f"{printable(str(root / folder))} is a link, into which nothing is written: remove it")


def _refuse_clashes(root: Path, files: dict[str, Key]) -> None:
    """Raise `StoreError` where a file that would stay has a document that would be written under another name."""
    if not root.exists():
        return
    names = {key.name: name for name, key in files.items()}
    for raw in _documents_below(root)[1]:
        name = names.get(raw.key.name)
        if name is not None and raw.source != name:
            raise StoreError(
                f"{printable(str(root))}: {printable(raw.source)} is there already and would be a second file beside "
                f"{name}: remove it"
            )

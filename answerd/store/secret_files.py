"""The secrets of the service: files of one directory, read ahead and kept in memory (docs/secrets.md).

Knows names, sizes, times and bytes. `SecretFiles.poll` finds changes, in a thread, and puts them in force in
`answerd.store.secret_set`, where answers are filled from. A value is never part of a message.
"""

from __future__ import annotations

import errno
import operator
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from answerd.answers.sources import Sources
from answerd.identity import identity_of, join_limited, printable
from answerd.store.looks import Looks, State
from answerd.store.mounts import Mounts, read_table
from answerd.store.notification import Watch, device_and_inode
from answerd.store.reading import Boundary, Signature, signature_of
from answerd.store.secret_set import SecretLookup, SecretSet, same_identity

LARGEST_SECRET = 65_536
"""Bytes of a secret."""

POLL_SECONDS = 0.25
"""The time between two scans. A change is in force after two scans, within a second."""

FULL_LOOK_SECONDS = 60.0
"""The most time between two scans at everything, whatever the kernel reports."""

MOST_NAMED = 5
"""Files that a warning names."""

_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")
_READABLE_BY_OTHERS = 0o004
_LEADS_NOWHERE = "it is a link that leads nowhere"


@dataclass(frozen=True, slots=True)
class _SecretScan:
    """The result of one scan: files by their place below the directory (``NAME`` or ``folder/NAME``), and its folders.

    ``faults``: why a folder could not be listed. ``open_files`` and ``open_folders`` every user of the machine can
    read. ``is_watched``: the kernel reports every change.
    """

    files: dict[str, State] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    faults: dict[str, str] = field(default_factory=dict)
    open_files: list[str] = field(default_factory=list)
    open_folders: tuple[str, ...] = ()
    is_watched: bool = False


class _Quiet:
    """Whether the kernel reports that nothing changed, so that a scan at thousands of files four times a second can be
    spared. Links, which lead to files that are not watched, and files whose changes the kernel does not report are
    looked at each time.
    """

    def __init__(self) -> None:
        self._watch: Watch | None = None
        self._at_rest = False
        self._full_scan_due = 0.0
        self._watch_due = 0.0

    def is_unchanged(self) -> bool:
        """Return whether nothing changed since the last scan, in which nothing had changed either."""
        if self._watch is None:
            return False
        moved = self._watch.moved()
        if moved is None:
            self._end()
            self._watch_due = 0.0
        return self._at_rest and moved == set() and time.monotonic() < self._full_scan_due

    def begin(self, root: Path) -> Watch | None:
        """Return the watch that a scan has to give each directory before it lists it; None where there is none."""
        self._full_scan_due = time.monotonic() + FULL_LOOK_SECONDS
        if self._watch is None and time.monotonic() >= self._watch_due:
            self._watch = Watch.begin(root)
            self._watch_due = self._full_scan_due  # not again at the next scan, where there is none
        return self._watch

    def settle(self, *, is_watched: bool, at_rest: bool) -> None:
        """Record the result of a scan: whether all files are watched, and whether nothing changed since the scan
        before."""
        self._at_rest = at_rest
        if not is_watched:
            self._end()

    def _end(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch, self._at_rest = None, False


class _Secret(NamedTuple):
    """The content in force of one file: ``text``, or ``fault`` why there is none."""

    text: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class _InForce:
    """What is known of one moment beside the files. ``folders``: for each identity the folders that have it, sorted."""

    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class SecretFiles:
    """The secrets of one directory, or none where no directory is set.

    `poll` is for one thread at a time; everything else is for any thread, and sees the result of the last scan.
    """

    def __init__(self, directory: str | None) -> None:
        self.directory = directory
        self.version = 0
        self.lookup = SecretLookup(directory)
        self._files: Looks[_Secret] = Looks(self._read, operator.eq)
        self._in_force = _InForce()
        self._before: _SecretScan | None = None
        self._fault = ""
        self._has_been_read = False
        self._root: tuple[int, int] | None = None  # device and inode of the directory that was read
        self._quiet = _Quiet()
        if directory is not None:
            self.poll()

    def secret(self, name: str, identifiers: Sequence[str]) -> str:
        """Return the text of a secret, as `SecretLookup.secret` does."""
        return self.lookup.secret(name, identifiers)

    def problems(self) -> list[str]:
        """Return the problems of the directory that affect every secret."""
        folders = self._in_force.folders.values()
        return sorted(f"secrets: {same_identity(alike)}" for alike in folders if len(alike) > 1)

    def warnings(self) -> list[str]:
        """Return warnings for the operator: the directory or a secret in it cannot be read, or other users can read its
        files."""
        found = [*self._unreadable(), *self._in_force.warnings]
        if not self._fault:
            return found
        what = "the secrets in force stay" if self._has_been_read else "every secret is missing until that changes"
        return [f"{self._fault}: {what}", *found]

    def poll(self) -> bool:
        """Look at the directory; return whether anything is in force that was not before.

        A file that changed or vanished counts once two scans in a row agree about it; the first scan takes effect at
        once. A directory that cannot be listed leaves everything as it is.
        """
        if self.directory is None:
            return False
        root = Path(self.directory)
        if self._quiet.is_unchanged():
            return False
        try:
            root_now = device_and_inode(root)
            seen = _scan(root, self._quiet.begin(root))
            if self._files.names and not (seen.files or seen.folders) and root_now != self._root:
                raise OSError(errno.ENOENT, "it is another directory now, in which there is nothing")
            self._root = root_now
        except OSError as error:
            fault = f"the secrets directory {printable(self.directory)} cannot be read ({error.strerror})"
            is_new, self._fault = fault != self._fault, fault
            if not self._has_been_read:
                self.lookup.fault = fault
            self.version += is_new
            return is_new
        before, self._before = self._before or seen, seen
        added, removed = self._files.look(dict(seen.files))
        settled = _InForce(_by_identity(_folders(seen, before)), seen.faults, tuple(_warnings(root, seen)))
        is_new = bool(self._fault or added or removed) or settled != self._in_force
        self._fault, self._has_been_read = "", True
        self.lookup.fault = ""
        is_settled = not (is_new or self._files.unsettled or self._files.may_have_changed_unseen)
        self._quiet.settle(is_watched=seen.is_watched, at_rest=is_settled and seen == before)
        if is_new:
            self._in_force = settled
            self.lookup.in_force = self._secrets()
            self.version += 1
        return is_new

    def _secrets(self) -> SecretSet:
        """Return what requests look up."""
        texts = {place: secret.text for place, secret in self._files.contents() if secret.text}
        return SecretSet(texts, self._faults(), self._in_force.folders, self._in_force.faults)

    def _faults(self) -> dict[str, str]:
        return {place: secret.fault for place, secret in self._files.contents() if secret.fault}

    def _unreadable(self) -> Iterator[str]:
        """Yield a sentence about the secrets that cannot be read: a machine that needs one gets 500."""
        faults = {f"{folder}/": why for folder, why in self._in_force.faults.items()} | self._faults()
        if faults:
            named = [f"{printable(place)} ({why})" for place, why in sorted(faults.items())]
            yield f"secrets: what cannot be read: {join_limited(named, MOST_NAMED)}"

    def _read(self, place: str, state: State) -> tuple[Signature | None, _Secret]:
        root = Path(self.directory or "")
        return _read(root / place, state, Boundary.of(root, Mounts.of(read_table())))


def sources_of(secrets: SecretFiles) -> Sources:
    """Return the sources of a service that has these secrets, and keeps no states."""
    return Sources(secret=secrets.lookup.secret, problems=secrets.problems, version=lambda: secrets.version)


def _folders(seen: _SecretScan, before: _SecretScan) -> list[str]:
    """Return the folders that count: one that is gone counts for one more scan, unless another has its identity.

    Else a machine whose folder is being replaced would get the secrets of all.
    """
    there = set(map(identity_of, seen.folders))
    return [*seen.folders, *(folder for folder in before.folders if identity_of(folder) not in there)]


def _by_identity(folders: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for folder in sorted(folders):
        identity = identity_of(folder)
        found[identity] = (*found.get(identity, ()), folder)
    found.pop("", None)
    return found


def _scan(root: Path, watch: Watch | None) -> _SecretScan:
    """Return the files and folders below the directory now, and add them to ``watch``. Raises OSError where it cannot
    be listed."""
    scan = _SecretScan()
    is_watched = watch is not None and watch.add("")
    folders = []
    open_folders = [""] if _is_open(os.stat(root)) else []
    for entry in _entries(root):
        status = _status(entry)
        if status is None:
            continue
        is_watched = is_watched and not _leads_elsewhere(entry, status)
        if isinstance(status, os.stat_result) and stat.S_ISDIR(status.st_mode):
            folders.append(entry.name)
            is_watched = is_watched and watch is not None and watch.add(entry.name)
            open_folders += [entry.name] if _is_open(status) else []
            try:
                for below in _entries(root / entry.name):
                    if _NAME.match(below.name):
                        found = _status(below)
                        is_watched = is_watched and not _leads_elsewhere(below, found)
                        _take(scan, f"{entry.name}/{below.name}", found)
            except OSError as error:
                scan.faults[entry.name] = error.strerror or type(error).__name__
            continue
        if status == _LEADS_NOWHERE:  # a machine's directory, perhaps: it must not get the secrets of all instead
            folders.append(entry.name)
            scan.faults[entry.name] = _LEADS_NOWHERE
        if _NAME.match(entry.name):
            _take(scan, entry.name, status)
    return _SecretScan(scan.files, tuple(folders), scan.faults, scan.open_files, tuple(open_folders), is_watched)


def _leads_elsewhere(entry: os.DirEntry[str], status: os.stat_result | str | None) -> bool:
    """Return whether an entry may change by a name that is not watched: a link of either kind."""
    if entry.is_symlink() or not isinstance(status, os.stat_result):
        return True
    return stat.S_ISREG(status.st_mode) and status.st_nlink > 1


def _entries(directory: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a directory, without those that begin with a dot: versions of a Kubernetes volume."""
    with os.scandir(directory) as entries:
        yield from (entry for entry in entries if not entry.name.startswith("."))


def _status(entry: os.DirEntry[str]) -> os.stat_result | str | None:
    """Return the state of an entry, links followed, or why it has none; None where it is gone."""
    try:
        return entry.stat()
    except FileNotFoundError:
        return _LEADS_NOWHERE if entry.is_symlink() else None
    except OSError as error:
        return error.strerror or type(error).__name__


def _take(scan: _SecretScan, place: str, status: os.stat_result | str | None) -> None:
    if isinstance(status, str):
        scan.files[place] = status
    elif status is not None and not stat.S_ISDIR(status.st_mode):
        scan.files[place] = signature_of(status)
        if _is_open(status):
            scan.open_files.append(place)


def _is_open(status: os.stat_result) -> bool:
    return bool(status.st_mode & _READABLE_BY_OTHERS)


def _warnings(root: Path, seen: _SecretScan) -> Iterator[str]:
    """Yield a sentence about the directories, and one about the files, that every user of the machine can read."""
    folders = [f"{root}/{folder}".rstrip("/") for folder in seen.open_folders]
    files = [f"{root}/{place}" for place in seen.open_files]
    for what, places in (("directories", folders), ("files", files)):
        if places:
            named = join_limited([printable(place) for place in sorted(places)], MOST_NAMED)
            yield f"secrets: {what} that every user of this machine can read: {named}: chmod o-r"


def _read(path: Path, state: State, boundary: Boundary) -> tuple[Signature | None, _Secret]:
    """Read one secret that was seen in ``state``."""
    fault = state if isinstance(state, str) else boundary.link_fault(str(path))
    if fault:
        return None, _Secret(fault=fault)
    try:
        # Non-blocking, so that a file which has just been replaced by a pipe cannot hold up the scan.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            status = os.fstat(file)
            opened = boundary.device_fault(status.st_dev) or signature_of(status)
            content = b"" if isinstance(opened, str) else _content(file)
        finally:
            os.close(file)
    except OSError as error:
        return None, _Secret(fault=error.strerror or type(error).__name__)
    if isinstance(opened, str):
        return None, _Secret(fault=opened)
    if len(content) > LARGEST_SECRET:
        return opened, _Secret(fault=f"it is larger than {LARGEST_SECRET:,} bytes")
    try:
        return opened, _Secret(_without_line_end(content.decode("utf-8")))
    except UnicodeDecodeError as error:
        return opened, _Secret(fault=f"it is not UTF-8 at offset {error.start}")


def _content(file: int) -> bytes:
    """Return a file's content, at most one byte more than a secret may have."""
    pieces: list[bytes] = []
    left = LARGEST_SECRET + 1
    while left and (piece := os.read(file, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _without_line_end(text: str) -> str:
    """Return a text without one line end at its end: editors and ``echo`` write it."""
    for end in ("\r\n", "\n", "\r"):
        if text.endswith(end):
            return text.removesuffix(end)
    return text

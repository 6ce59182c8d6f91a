"""The secrets of the service: files of one directory, read ahead and kept in memory (docs/secrets.md).

`SecretFiles.poll` finds changes, in a thread, and puts a new `SecretSet` in force. A value is never part of a message.
"""

from __future__ import annotations

import errno
import operator
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from answerd.answers.sources import Sources
from answerd.config import SECRETS_DIR
from answerd.errors import CannotFill
from answerd.formats.template import SECRET_NAME, SECRETS
from answerd.identity import identity_of
from answerd.short_texts import brief, join_limited, printable
from answerd.store.file_io import Signature, State, link_fault, read_file, state_of
from answerd.store.looks import Looks
from answerd.store.watch import WRITING_SECONDS, Watch, device_and_inode

LARGEST_SECRET = 65_536
"""Bytes of a secret."""

POLL_SECONDS = 0.25
"""The time between two scans. A change is in force after two scans, within a second."""

MOST_NAMED = 5
"""Files or directories that a sentence names."""

_LEADS_NOWHERE = "it is a link that leads nowhere"


@dataclass(frozen=True, slots=True)
class SecretSet:
    """All secrets of one moment.

    ``texts`` and ``faults`` have files by their place below the directory, ``NAME`` or ``folder/NAME``: what they hold,
    or why that cannot be read. ``folders``: for each identity the folders that have it, sorted. ``unlisted``: why a
    folder could not be listed.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unlisted: Mapping[str, str] = field(default_factory=dict)


def _of_machine(in_force: SecretSet, name: str, identifier: str) -> str | None:
    """Return the secret in the folder of a machine; None where there is none. Raises `CannotFill`."""
    folders = in_force.folders.get(identity_of(identifier), ())
    if len(folders) > 1:
        raise _cannot(name, f"is ambiguous: {same_identity(folders)}")
    for folder in folders:
        if folder in in_force.unlisted:
            raise _cannot(name, f"cannot be read: {in_force.unlisted[folder]} ({printable(folder)}/)")
        place = f"{folder}/{name}"
        text = in_force.texts.get(place)
        if text:
            return text
        if place in in_force.faults:
            raise _cannot(name, f"cannot be read: {in_force.faults[place]} ({printable(place)})")
    return None


def same_identity(folders: Sequence[str]) -> str:
    """Return the sentence of a problem: folders that have one identity."""
    names = [f"{printable(folder)}/" for folder in folders]
    return f"{len(folders)} directories for one identity: {join_limited(names, MOST_NAMED, ' and ')}"


def _cannot(name: str, what: str, general: str = "") -> CannotFill:
    subject = f"the secret {name!r} "
    return CannotFill(subject + what, SECRETS + name, missing=False, general=subject + (general or what))


# --- read from the directory -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SecretScan:
    """The result of one scan: files by their place below the directory (``NAME`` or ``folder/NAME``), and its folders.

    ``faults``: why a folder could not be listed. ``open_folders`` and ``open_files`` every user of the machine can
    read; the directory itself is an empty name.
    """

    files: dict[str, State] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)
    open_folders: list[str] = field(default_factory=list)
    open_files: list[str] = field(default_factory=list)


class _Secret(NamedTuple):
    """The content in force of one file: ``text``, or ``fault`` why there is none."""

    text: str = ""
    fault: str = ""


class SecretFiles:
    """The secrets of one directory, or none where no directory is set.

    `poll` is for one thread at a time; everything else is for any thread, and sees the result of the last scan.
    """

    def __init__(self, directory: str | None) -> None:
        self.directory = directory
        self.version = 0
        self.in_force = SecretSet()
        self._files: Looks[_Secret] = Looks(self._read, operator.eq)
        self._warnings: tuple[str, ...] = ()
        self._before: _SecretScan | None = None
        self._fault = ""
        self._root: tuple[int, int] | None = None  # device and inode of the directory that was read
        self._watch = Watch(Path(directory or ""))
        self._is_at_rest = False
        if directory is not None:
            self.poll()

    def secret(self, name: str, identifiers: Sequence[str]) -> str:
        """Return the text of a secret for the machine with these identifiers, of which the first that has it counts.

        Raises `CannotFill`, whose reason names the secret: it is missing, cannot be read or is ambiguous.
        """
        in_force = self.in_force
        if in_force.folders:
            for identifier in identifiers:
                text = _of_machine(in_force, name, identifier)
                if text is not None:
                    return text
        text = in_force.texts.get(name)
        if text:
            return text
        raise self._missing(name, identifiers)

    def _missing(self, name: str, identifiers: Sequence[str]) -> CannotFill:
        directory = self.directory
        if directory is None:
            return _cannot(name, f"is missing: {SECRETS_DIR} is not set")
        if name in self.in_force.faults:
            return _cannot(name, f"cannot be read: {self.in_force.faults[name]} ({printable(name)})")
        if self._before is None:
            return _cannot(name, f"is missing: {self._fault}")
        looked = [f"{brief(identifier)}/{name}" for identifier in identifiers]
        return _cannot(
            name,
            f"is missing: the secrets directory has no {' and no '.join([*looked, name])}",
            general=f"is missing: {printable(directory)} has no {name}, and no directory with one for the machine",
        )

    def problems(self) -> list[str]:
        """Return the problems of the directory that affect every secret."""
        folders = self.in_force.folders.values()
        return sorted(f"secrets: {same_identity(alike)}" for alike in folders if len(alike) > 1)

    def warnings(self) -> list[str]:
        """Return warnings for the operator: the directory or a secret in it cannot be read, or other users can read its
        files."""
        found = [*self._unreadable(), *self._warnings]
        if not self._fault:
            return found
        what = "the secrets in force stay" if self._before else "every secret is missing until that changes"
        return [f"{self._fault}: {what}", *found]

    def poll(self) -> bool:
        """Look at the directory; return whether anything is in force that was not before.

        A file that changed or vanished counts once two scans in a row agree about it; the first scan takes effect at
        once. A directory that cannot be listed leaves everything as it is.
        """
        if self.directory is None:
            return False
        root = Path(self.directory)
        moved = self._watch.moved()
        if self._is_at_rest and not moved and not self._watch.is_full_look_due:
            return False
        self._files.distrust(moved)
        try:
            seen = self._scan(root)
        except OSError as error:
            self._watch.close()
            fault = f"the secrets directory {printable(self.directory)} cannot be read ({error.strerror})"
            is_new, self._fault = fault != self._fault, fault
            self.version += is_new
            return is_new
        before, self._before = self._before or seen, seen
        held = set(filter(self._watch.is_held, seen.files))  # half written: the secrets before stay in force
        settled = {place: state for place, state in seen.files.items() if place not in held}
        added, removed = self._files.look(settled, kept=held)
        contents = dict(self._files.contents())
        in_force = SecretSet(
            {place: secret.text for place, secret in contents.items() if secret.text},
            {place: secret.fault for place, secret in contents.items() if secret.fault},
            _by_identity(_folders(seen, before)),
            seen.faults,
        )
        warnings = (*_warnings(root, seen), *self._overdue(seen))
        is_new = bool(self._fault or added or removed) or (in_force, warnings) != (self.in_force, self._warnings)
        self._fault = ""
        self._is_at_rest = seen == before and not (is_new or self._files.unsettled)
        if is_new:
            self.in_force, self._warnings = in_force, warnings
            self.version += 1
        return is_new

    def _overdue(self, seen: _SecretScan) -> Iterator[str]:
        """Yield a sentence about the files that somebody has had open for writing for too long."""
        if late := self._watch.overdue & seen.files.keys():
            named = join_limited([printable(place) for place in sorted(late)], MOST_NAMED)
            yield (
                f"secrets: open for writing for {WRITING_SECONDS:.0f} s, and read as they are: {named}: write beside "
                "and rename"
            )

    def _scan(self, root: Path) -> _SecretScan:
        """Look at everything. Raises OSError where the directory cannot be listed, or is another one and empty."""
        root_now = device_and_inode(root)
        self._watch.begin_look()
        seen = _scan(root, self._watch)
        if self._files.names and not (seen.files or seen.folders) and root_now != self._root:
            raise OSError(errno.ENOENT, "it is another directory now, in which there is nothing")
        self._watch.end_look()
        self._root = root_now
        return seen

    def _unreadable(self) -> Iterator[str]:
        """Yield a sentence about the secrets that cannot be read: a machine that needs one gets 500."""
        in_force = self.in_force
        faults = dict(in_force.faults)
        faults.update((f"{folder}/", why) for folder, why in in_force.unlisted.items())
        if faults:
            named = [f"{printable(place)} ({why})" for place, why in sorted(faults.items())]
            yield f"secrets: what cannot be read: {join_limited(named, MOST_NAMED)}"

    def _read(self, place: str, state: State) -> tuple[Signature | None, _Secret]:
        path = f"{self.directory}/{place}"
        fault = state if isinstance(state, str) else link_fault(path, self.directory or "")
        if fault:
            return None, _Secret(fault=fault)
        read, content = read_file(path, LARGEST_SECRET)
        if isinstance(read, str):
            return None, _Secret(fault=read)
        if content is None:
            return read, _Secret(fault=f"it is larger than {LARGEST_SECRET:,} bytes")
        try:
            text = _without_line_end(content.decode("utf-8").removeprefix("\ufeff"))
        except UnicodeDecodeError as error:
            return read, _Secret(fault=f"it is not UTF-8 at offset {error.start}")
        return read, _Secret(text) if text else _Secret(fault="it is empty")


def names_of(secrets: SecretFiles) -> list[tuple[str, str]]:
    """Return the place of each secret, ``NAME`` or ``folder/NAME``, and why it cannot be read, sorted."""
    in_force = secrets.in_force
    return sorted({**dict.fromkeys(in_force.texts, ""), **in_force.faults}.items())


def unreadable_to_others(secrets: SecretFiles) -> str:
    """Return a warning about secrets that only the present user can read, in a directory of another user's or group's,
    which is the service's then; empty where there are none. For commands: root reads what the service cannot."""
    if secrets.directory is None:
        return ""
    own, own_groups = os.geteuid(), {os.getegid(), *os.getgroups()}
    try:
        root = os.stat(secrets.directory)
    except OSError:
        return ""
    if root.st_uid == own and root.st_gid in own_groups:
        return ""

    def is_own_alone(place: str) -> bool:
        try:
            status = os.stat(f"{secrets.directory}/{place}")
        except OSError:
            return False
        may_group = status.st_mode & stat.S_IRGRP and status.st_gid not in own_groups
        return status.st_uid == own and not (may_group or _is_open(status))

    in_force = secrets.in_force
    folders = [folder for alike in in_force.folders.values() for folder in alike]
    found = [f"{folder}/" for folder in folders if is_own_alone(folder)]
    found += [place for place in in_force.texts if is_own_alone(place)]
    if not found:
        return ""
    named = join_limited([printable(place) for place in sorted(found)], MOST_NAMED)
    return (
        f"secrets: only the user who runs this command can read {named}, the service cannot: give each the group of "
        f"{printable(secrets.directory)}, and chmod g+r (g+rx for a directory)"
    )


def sources_of(secrets: SecretFiles) -> Sources:
    """Return the sources of a service that has these secrets, and keeps no states."""
    return Sources(
        secret=secrets.secret,
        problems=secrets.problems,
        folders=lambda: secrets.in_force.folders,
        version=lambda: secrets.version,
    )


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


def _scan(root: Path, watch: Watch) -> _SecretScan:
    """Return the files and folders below the directory now, and have them watched. Raises OSError where it cannot be
    listed."""
    root_status = os.stat(root)
    scan = _SecretScan(open_folders=[""] if _is_open(root_status) else [])
    watch.add("")

    def take(place: str, entry: os.DirEntry[str], status: os.stat_result | str | None, *above: os.stat_result) -> None:
        if status is None or not SECRET_NAME.match(entry.name):
            return
        # What a link of either kind leads to may change without a report.
        if entry.is_symlink() or isinstance(status, str) or status.st_nlink > 1:
            watch.is_whole = False
        scan.files[place] = status if isinstance(status, str) else state_of(status)
        may_enter = all(directory.st_mode & stat.S_IXOTH for directory in (root_status, *above))
        if isinstance(status, os.stat_result) and _is_open(status) and may_enter:
            scan.open_files.append(place)

    for entry in _entries(root):
        status = _status(entry)
        if isinstance(status, os.stat_result) and stat.S_ISDIR(status.st_mode):
            scan.folders.append(entry.name)
            watch.is_whole = watch.is_whole and not entry.is_symlink()
            watch.add(entry.name)
            if _is_open(status):
                scan.open_folders.append(entry.name)
            try:
                for below in _entries(root / entry.name):
                    found = _status(below)
                    if isinstance(found, str) or (found is not None and not stat.S_ISDIR(found.st_mode)):
                        take(f"{entry.name}/{below.name}", below, found, status)
            except OSError as error:
                scan.faults[entry.name] = error.strerror or type(error).__name__
            continue
        if status == _LEADS_NOWHERE:  # a machine's directory, perhaps: it must not get the secrets of all instead
            scan.folders.append(entry.name)
            scan.faults[entry.name] = _LEADS_NOWHERE
        take(entry.name, entry, status)
    return scan


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


def _is_open(status: os.stat_result) -> bool:
    return bool(status.st_mode & stat.S_IROTH)


def _warnings(root: Path, seen: _SecretScan) -> Iterator[str]:
    """Yield a sentence about the directories, and one about the files, that every user of the machine can read."""
    folders = [f"{root}/{folder}".rstrip("/") for folder in seen.open_folders]
    files = [f"{root}/{place}" for place in seen.open_files]
    for what, places in (("directories", folders), ("files", files)):
        if places:
            named = join_limited([printable(place) for place in sorted(places)], MOST_NAMED)
            yield f"secrets: {what} that every user of this machine can read: {named}: chmod o-r"


def _without_line_end(text: str) -> str:
    """Return a text without one line end at its end: editors and ``echo`` write it."""
    for end in ("\r\n", "\n", "\r"):
        if text.endswith(end):
            return text.removesuffix(end)
    return text

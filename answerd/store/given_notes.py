"""Notes of documents that were given, in memory that outlives the process: a process that is killed loses none of them.

Rules: docs/install-once.md#where-states-are-kept. The event that a document was given is written after the answer, in
batches. Until its batch is on the disk, a note of it is here: one part of a file for each process, mapped into memory,
so that a note costs no call of the kernel and waits for no disk. Others read it: the process that takes the report of
the same machine, the process that replaces one that died, and the service at its next start. Notes survive a killed
process and a killed service; they are not meant to survive a machine that loses its power.

The blocks of the file are reserved when it is made, because a write to mapped memory for which the disk has no room
would kill the process. Where a file system cannot reserve them, the notes are in memory that the processes share, and
outlive a process only.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

import orjson

from answerd.formats.family import Once
from answerd.identity import identity_of
from answerd.installs.states import Asked, Gate
from answerd.store.install_batch import PendingEvent
from answerd.store.mounts import Mounts, read_table

HALF: Final = 262_144
"""Bytes of each half of a process's part: about a thousand notes. While one half waits to be written, notes go to the
other. A note that has no room is not kept: it is written in its turn, as before."""

RESERVING_FILE_SYSTEMS = frozenset({"ext4", "xfs", "tmpfs", "f2fs"})
"""Where a block that was reserved can be written to however full the disk is. On a file system that copies on write
(btrfs, zfs) it cannot, and overlay and network file systems may not either."""

MOST_SERVICES: Final = 8
"""Services that keep notes beside one file of states, each in a file of its own."""

_SUFFIX = "-given"
_MARK = 16
_END = struct.Struct("<I")
_FRAME = struct.Struct("<II")
"""Length and checksum."""


class GivenNotes:
    """The notes of all processes of the service. Made once, before forking; each process writes its own part."""

    def __init__(self, states: Path, processes: int, key: bytes) -> None:
        """``states`` is the file of states; ``key`` is theirs: notes of other states do not count."""
        mark = hashlib.sha256(key).digest()[:_MARK]
        size = _MARK + processes * 2 * HALF
        mapped, self._file = _claimed(states, size)
        self.survives_the_service = mapped is not None
        self._memory = memoryview(mapped if mapped is not None else mmap.mmap(-1, size))
        self._halves = (len(self._memory) - _MARK) // HALF
        if self._memory[:_MARK] != mark:
            self.clear()
            self._memory[:_MARK] = mark
        self._own = self._active = 0
        self._sealed: set[int] = set()

    def left(self) -> list[PendingEvent]:
        """Return all notes, oldest first; at the start of the service they are those of a service that was killed."""
        found = (_unpacked(payload) for half in range(self._halves) for payload in self._payloads(half))
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.event.at)

    def clear(self) -> None:
        """Remove all notes. For the start of the service, once the notes that were left are written."""
        for half in range(self._halves):
            self._set_end(half, 0)

    def attach(self, process: int) -> list[PendingEvent]:
        """Write the part of this process from now on. Return the notes that the process before it has left there, which
        stay until they are written."""
        self._own, self._active, self._sealed = process, 2 * process, set()
        halves = (2 * process, 2 * process + 1)
        found = [_unpacked(payload) for half in halves for payload in self._payloads(half)]
        for half in halves:
            if self._end_of(half):
                self._sealed, self._active = {half}, half ^ 1
                break
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.event.at)

    def note(self, entry: PendingEvent) -> None:
        """Keep a note of an event that waits to be written."""
        payload = _packed(entry)
        end = self._end_of(self._active)
        after = end + _FRAME.size + len(payload)
        if not payload or after > HALF - _END.size:
            return
        at = self._start_of(self._active) + end
        _FRAME.pack_into(self._memory, at, len(payload), zlib.crc32(payload))
        self._memory[at + _FRAME.size : at + _FRAME.size + len(payload)] = payload
        self._set_end(self._active, after)

    def taken(self) -> None:
        """Everything that this process has noted so far is about to be written."""
        if self._end_of(self._active) and self._active ^ 1 not in self._sealed:
            self._sealed.add(self._active)
            self._active ^= 1

    def written(self) -> None:
        """Everything that was noted before the last `taken` is on the disk."""
        for half in self._sealed:
            self._set_end(half, 0)
        self._sealed.clear()

    def of_others(self, names: Collection[str]) -> Iterator[PendingEvent]:
        """Yield the notes of the other processes about the records of these names' identities."""
        wanted = {name.encode("utf-8", "replace") for name in names}
        for half in range(self._halves):
            if half // 2 == self._own or not self._end_of(half):
                continue
            for payload in self._payloads(half):
                if payload.partition(b"\0")[0] in wanted and (entry := _unpacked(payload)) is not None:
                    yield entry

    def _payloads(self, half: int) -> Iterator[bytes]:
        """Yield the notes in a half. Its owner may write it meanwhile: the first incomplete note ends the iteration."""
        start = self._start_of(half)
        text = bytes(self._memory[start : start + min(self._end_of(half), HALF - _END.size)])
        at = 0
        while at + _FRAME.size <= len(text):
            length, checksum = _FRAME.unpack_from(text, at)
            payload = text[at + _FRAME.size : at + _FRAME.size + length]
            if len(payload) != length or zlib.crc32(payload) != checksum:
                return
            yield payload
            at += _FRAME.size + length

    def _start_of(self, half: int) -> int:
        return _MARK + half * HALF + _END.size

    def _end_of(self, half: int) -> int:
        end: int = _END.unpack_from(self._memory, _MARK + half * HALF)[0]
        return end

    def _set_end(self, half: int, end: int) -> None:
        _END.pack_into(self._memory, _MARK + half * HALF, end)


def _claimed(states: Path, size: int) -> tuple[mmap.mmap | None, int | None]:
    """Return the first file of notes that no other service holds, mapped, and its descriptor, which keeps it; None
    where there is none, or its blocks cannot be reserved."""
    if Mounts.of(read_table()).type_of(str(states.parent)) not in RESERVING_FILE_SYSTEMS:
        return None, None
    for number in range(MOST_SERVICES):
        path = f"{states}{_SUFFIX}{number or ''}"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return None, None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            whole = max(size, os.fstat(file).st_size)
            os.posix_fallocate(file, 0, whole)
            return mmap.mmap(file, whole), file
        except BlockingIOError:
            os.close(file)
        except (OSError, ValueError):
            os.close(file)
            return None, None
    return None, None


def _packed(entry: PendingEvent) -> bytes:
    """Return an event as a note; empty for an event other than `Asked`."""
    asked = entry.event
    if not isinstance(asked, Asked):
        return b""
    fields = (entry.name, dict(entry.identities), entry.group, entry.detail, entry.origin, entry.was_refused)
    try:
        return identity_of(entry.name).encode() + b"\0" + orjson.dumps((*asked, *fields))
    except (TypeError, ValueError):  # a lone surrogate
        return b""


def _unpacked(payload: bytes) -> PendingEvent | None:
    """Return the event of a note; None where it is of another version."""
    try:
        document, gate, once, at, without_start, name, identities, group, detail, origin, refused = orjson.loads(
            payload.partition(b"\0")[2]
        )
        asked = Asked(document, Gate(gate), Once(once), at, without_start)
    except (TypeError, ValueError):
        return None
    return PendingEvent(name, asked, identities, group, detail, origin, b"", refused)

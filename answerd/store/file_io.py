"""Read and write single files.

Reading: the signature of a file, the limit of its size, and the files that are never opened. Writing: whole or not at
all, on the disk when the call returns, and readable by their owner only. Documents hold password hashes and keys, so a
new file has mode 0600 and a new directory 0700, less what the umask removes. A file that is replaced keeps its mode
and, where the process may set it, its owner and group. What root makes in a directory with the set-group-ID bit is
readable by the directory's group: that is how the Debian package lets the service read what root writes.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from pathlib import Path

from answerd.documents import LARGEST_DOCUMENT, LARGEST_INVENTORY, Key, NotText, RawDocument, decoded
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.short_texts import printable

Signature = tuple[int, int, int, int]
"""Size in bytes, times of the last change of content and of inode in nanoseconds, inode: equal means that a file is
unchanged. The inode's time cannot be set by a program, so ``cp -p`` over a file shows."""

State = Signature | str
"""What a look sees of a file: its signature, or why it is not opened."""

_CLOCK_TICK_NANOSECONDS = 2_000_000_000
"""The coarsest time stamp of a file system in use (FAT): a file read sooner after its last change may have changed
again under the same stamp, so it is read once more."""

_READ_AT_ONCE = 65_536
"""Bytes that are asked for where a file should have ended. A block from 256 KB on would be mapped separately, in new
pages, for each of 100,000 files."""

_KERNEL_DIRECTORIES = ("/proc", "/sys", "/dev")
"""The directories in which processes, devices and the kernel itself appear as files."""

_NEW_DIRECTORY_MODE = 0o700
_GROUP_BITS = 0o070
_SHARED_FILE_MODE = 0o640
_SHARED_DIRECTORY_MODE = 0o2750


# --- reading ---------------------------------------------------------------------------------------------------------


LEADS_OUT = "it is a link that leads out of the directory (--follow-links follows it)"


def link_fault(path: str, root: str, *, follows_links: bool = True) -> str | None:
    """Return why the target of a symbolic link is not read; None where it is. ``root``: what is below the directory of
    the settings is never refused, an operator may have named ``/dev/shm/answers``. ``follows_links``: what is elsewhere
    is read too, but never what the kernel shows as files."""
    target = os.path.realpath(path)
    if _is_below(target, root):
        return None
    for directory in _KERNEL_DIRECTORIES:
        if target == directory or target.startswith(f"{directory}/"):
            return f"it is a link into {directory}, from which nothing is read"
    return None if follows_links else LEADS_OUT


def is_elsewhere(file: int, path: str, root: str) -> bool:
    """Return whether an open file, which was opened by this path, is not below a directory. Asked of the open file:
    whoever can write to the directory may have put a link in its way since it was looked at."""
    try:
        target = os.readlink(f"/proc/self/fd/{file}")
    except OSError:  # there is no /proc
        target = os.path.realpath(path)
    return not _is_below(target, root)


def _is_below(path: str, root: str) -> bool:
    return path.startswith(f"{os.path.realpath(root).rstrip('/')}/")


def state_of(status: os.stat_result) -> State:
    """Return a file's signature, or why it is never opened."""
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def is_settled(signature: Signature) -> bool:
    """Return whether a file's last change is so long ago that another change would show."""
    # In either direction: another machine's clock may be ahead, and a change from now on would not have its time.
    return abs(time.time_ns() - max(signature[1:3])) > _CLOCK_TICK_NANOSECONDS


def read_file(path: str, most: int, within: str | None = None) -> tuple[State, bytes | None]:
    """Read a file: its signature after that, or why it cannot be opened, and its content; None where that is more than
    ``most`` bytes. Only what is below the directory ``within``, unless that is None."""
    content = None
    try:
        # Non-blocking, so that a file which has just been replaced by a pipe cannot hold the service up.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if within is not None and is_elsewhere(file, path, within):
                return LEADS_OUT, None
            state = state_of(os.fstat(file))
            if not isinstance(state, str):
                content = _bounded(file, state[0], most)
                state = state_of(os.fstat(file))  # after it: a write shows
        finally:
            os.close(file)
    except OSError as error:
        return error.strerror or str(error), None
    return state, content


def read_document(path: str, source: str, key: Key, within: str | None = None) -> tuple[Signature | None, RawDocument]:
    """Read a file (`read_file`): its signature at that moment and its document; no signature when it could not be
    opened."""
    state, content = read_file(path, largest(key), within)
    if isinstance(state, str):
        return None, unopened(key, source, state)
    if content is None:
        return state, RawDocument(key, "", source, f"is larger than {largest(key):,} bytes ({printable(source)})")
    try:
        return state, RawDocument(key, decoded(key.kind, content), source)
    except NotText as error:
        return state, RawDocument(key, "", source, f"{error} ({printable(source)})", error.line)


def unopened(key: Key, source: str, reason: str) -> RawDocument:
    """Return the document of a file that cannot be opened."""
    return RawDocument(key, "", source, f"cannot be opened: {reason} ({printable(source)})")


def largest(key: Key) -> int:
    """Return how many bytes a document under this key may have, in any store."""
    return LARGEST_INVENTORY if key.format == INVENTORY_FORMAT else LARGEST_DOCUMENT


def _bounded(file: int, size: int, most: int) -> bytes | None:
    """Return the content of a file of about ``size`` bytes; None when that is more than ``most``, then or by now."""
    if size > most:
        return None
    pieces = [os.read(file, size + 1)]
    if len(pieces[0]) == size:
        return pieces[0]
    left = most + 1 - len(pieces[0])
    while left > 0 and (piece := os.read(file, min(left, _READ_AT_ONCE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if left > 0 else None


# --- writing ---------------------------------------------------------------------------------------------------------


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash, finds the old content or the new and nothing else. Raises OSError."""
    make_directories(path.parent)
    # The name begins with a dot: a half-written file is never a document.
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            _keep_ownership_and_mode(file.fileno(), path)
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def make_directories(path: Path) -> None:
    """Create a directory and those above it that are missing, durably and for their owner only. Raises OSError."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for directory in reversed(missing):
        try:
            directory.mkdir(_NEW_DIRECTORY_MODE)
        except FileExistsError:  # another process was faster, or a file is in the way
            if not directory.is_dir():
                raise
        else:
            if _is_shared_by_root(directory.parent):
                _share(directory)
        sync_directory(directory.parent)


def sync_directory(path: Path) -> None:
    """Wait until a directory's entries are on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def give_to_owner_of(directory: Path, file: int) -> None:
    """Give an open file, where root has made it, the owner and group of its directory. Raises OSError."""
    if os.geteuid() == 0:
        above = directory.stat()
        os.fchown(file, above.st_uid, above.st_gid)


def refuse_link_of_another(path: Path) -> None:
    """Raise OSError where the process is root's and ``path`` is a symbolic link that another user made: root would
    write where that user wants."""
    if os.geteuid() == 0 and path.is_symlink() and path.lstat().st_uid != 0:
        reason = "it is a symbolic link that another user made, which root does not follow"
        raise OSError(errno.ELOOP, reason, str(path))


def _share(directory: Path) -> None:
    """Let the group of a directory that root has just made read it. Not through a link that has taken its place."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(handle, _SHARED_DIRECTORY_MODE)
    finally:
        os.close(handle)


def _is_shared_by_root(directory: Path) -> bool:
    return os.geteuid() == 0 and bool(directory.stat().st_mode & stat.S_ISGID)


def _keep_ownership_and_mode(file: int, path: Path) -> None:
    """Give an open file the mode, owner and group of the regular file that it is to replace, if there is one."""
    try:
        before = path.lstat()
    except FileNotFoundError:
        if _is_shared_by_root(path.parent):
            os.fchmod(file, _SHARED_FILE_MODE)
        return
    if not stat.S_ISREG(before.st_mode):
        return
    mode = stat.S_IMODE(before.st_mode) & 0o777
    try:
        os.fchown(file, before.st_uid, before.st_gid)
    except PermissionError:
        try:
            os.fchown(file, -1, before.st_gid)
        except PermissionError:
            mode &= ~_GROUP_BITS  # they would give access to another group than before
    os.fchmod(file, mode)

"""Write files: whole or not at all, on the disk when the call returns, and readable by their owner only.

Documents hold password hashes and keys, so a new file has mode 0600 and a new directory 0700, less what the umask
removes. A file that is replaced keeps its mode and, where the process may set it, its owner and group.

What root makes in a directory with the set-group-ID bit is readable by the directory's group: that is how the Debian
package lets the service read what root writes.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

_NEW_DIRECTORY_MODE = 0o700
_GROUP_BITS = 0o070
_SHARED_FILE_MODE = 0o640
_SHARED_DIRECTORY_MODE = 0o2750


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
                directory.chmod(_SHARED_DIRECTORY_MODE)
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

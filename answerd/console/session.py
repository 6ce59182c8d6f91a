"""Who may use the console: operators that are logged in, until when.

Rules: docs/console.md#sessions. The clock is given. Sessions are kept in a file, so
that a restart of the service ends none. What the file holds is of no use without a cookie: of a session only the
SHA-256 of its identifier is written, and of its token an HMAC whose key is the identifier, and one that tells which
sessions are of one token.

The file is overwritten in place: a log-out has to count after a restart too, and a full disk has no room for another
file. Half a file, which only a power failure could leave, is no list of sessions: everybody has to log in again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gevent.lock import BoundedSemaphore

from answerd.server.roles import AdminTokens, Caller, Role, hash_of
from answerd.server.threads import in_thread
from answerd.store.file_io import make_directories

SESSION_SECONDS = 12 * 3_600
"""How long a session lasts, whether it is used or not."""

MOST_SESSIONS = 1_000
"""Sessions kept at a time, some 300 bytes each. The oldest ends when one more begins."""

MOST_OF_ONE_TOKEN = 100
"""Sessions of one token. Its oldest ends when one more begins, so that no token ends the sessions of another."""

_GROWS_BY = 4_096
"""Bytes of the file of sessions that are reserved at a time: a block of most file systems."""

LARGEST_FILE = 1_000_000
"""Bytes of the file of sessions that are read: several times what `MOST_SESSIONS` take."""


@dataclass(frozen=True, slots=True)
class Session:
    """One log-in. ``csrf`` is the token that its forms carry; ``who`` and ``role`` are those of the token that was
    used."""

    identifier: str
    csrf: str
    who: str
    role: Role


@dataclass(slots=True)
class _Kept:
    """A session as the file has it: ``mark`` is an HMAC of its token's SHA-256, ``ends`` in seconds since 1970,
    ``owner`` the same for all sessions of one token. ``token`` is that SHA-256, empty until the session is used in
    this process."""

    ends: float
    mark: str
    owner: str
    token: str = ""


class Sessions:
    """The sessions of the console."""

    def __init__(
        self,
        clock: Callable[[], float],
        tokens: AdminTokens,
        path: Path | None = None,
        log: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``clock``: seconds since 1970. ``tokens``: those that are valid now. ``path``: the file; without one sessions
        end with the process."""
        self._clock = clock
        self._tokens = tokens
        self._path = path
        self._log = log
        self._writing = BoundedSemaphore()
        self._sessions: OrderedDict[str, _Kept] = OrderedDict(self._read())

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, token: str) -> Session | None:
        """Return a new session for the bearer of a valid token; None for any other token."""
        caller = self._tokens.find("Bearer " + token.encode().decode("latin-1"))
        if caller is None:
            return None
        identifier = secrets.token_urlsafe(32)
        now = self._clock()
        for ended in [name for name, kept in self._sessions.items() if kept.ends <= now]:
            del self._sessions[ended]
        token_hash = hash_of(token.encode())
        owner = _mark(token_hash, "owner")
        of_owner = [name for name, kept in self._sessions.items() if kept.owner == owner]
        for name in of_owner[: max(0, len(of_owner) - MOST_OF_ONE_TOKEN + 1)]:
            del self._sessions[name]
        while len(self._sessions) >= MOST_SESSIONS:
            self._sessions.popitem(last=False)
        kept = _Kept(now + SESSION_SECONDS, _mark(identifier, token_hash), owner, token_hash)
        self._sessions[_digest(identifier)] = kept
        if fault := self._write():
            self._log(f"{fault}: sessions that began since it was written end with the service")
        return _session(identifier, caller)

    def find(self, identifier: str) -> Session | None:
        """Return the session of this identifier; None when it has ended or its token is valid no more."""
        digest = _digest(identifier)
        kept = self._sessions.get(digest)
        if kept is None:
            return None
        tokens = self._tokens.by_hash
        if not kept.token:
            marks = ((token, _mark(identifier, token)) for token in tokens)
            kept.token = next((token for token, mark in marks if hmac.compare_digest(mark, kept.mark)), "")
        caller = tokens.get(kept.token)
        if kept.ends <= self._clock() or caller is None:
            self._sessions.pop(digest, None)
            return None
        return _session(identifier, caller)

    def end(self, identifier: str) -> None:
        """End a session, if it is there."""
        if self._sessions.pop(_digest(identifier), None) is None or self._path is None:
            return
        if fault := self._write():
            try:
                in_thread(self._path.unlink)
                self._log(f"{fault}: it was removed, so after a restart everybody has to log in again")
            except OSError:
                self._log(f"{fault}, nor removed: a restart of the service undoes a log-out")

    def _read(self) -> dict[str, _Kept]:
        if self._path is None:
            return {}
        try:
            with self._path.open("rb") as file:
                found = json.loads(file.read(LARGEST_FILE).rstrip(b"\0"))
            return {
                str(digest): _Kept(float(ends), str(mark), str(owner))
                for digest, ends, mark, owner in found[-MOST_SESSIONS:]
            }
        except FileNotFoundError:
            return {}
        except OSError as error:
            reason = error.strerror
        except (ValueError, TypeError, KeyError, RecursionError):
            reason = "it is no list of sessions"
        self._log(f"console: {self._path} cannot be read: {reason}: everybody has to log in again")
        return {}

    def _write(self) -> str:
        """Write the file; return why it could not be written, empty where it was."""
        path = self._path
        if path is None:
            return ""
        with self._writing:  # else an older list could replace a newer one
            kept_now = [[digest, kept.ends, kept.mark, kept.owner] for digest, kept in self._sessions.items()]
            try:
                in_thread(_overwrite, path, json.dumps(kept_now).encode())
            except OSError as error:
                return f"console: {path} cannot be written: {error.strerror}"
        return ""


def _overwrite(path: Path, text: bytes) -> None:
    """Write a text over a file, with blanks after it. Raises OSError; for a full disk before anything is written."""
    make_directories(path.parent)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        size = os.fstat(file).st_size
        if len(text) > size:
            size = -(-len(text) // _GROWS_BY) * _GROWS_BY
            os.posix_fallocate(file, 0, size)
        left = memoryview(text.ljust(size))
        while left:
            left = left[os.pwrite(file, left, size - len(left)) :]
        os.fsync(file)
    finally:
        os.close(file)


def _session(identifier: str, caller: Caller) -> Session:
    return Session(identifier, _mark(identifier, "csrf"), caller.name or "admin", caller.role)


def _digest(identifier: str) -> str:
    return hashlib.sha256(identifier.encode("utf-8", "replace")).hexdigest()


def _mark(identifier: str, of: str) -> str:
    return hmac.new(identifier.encode("utf-8", "replace"), of.encode(), hashlib.sha256).hexdigest()

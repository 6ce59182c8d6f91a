"""Sessions: who has logged in, until when, and the token that each of their forms must carry.

Rules: docs/console.md#sessions. Knows neither cookies nor HTTP. The clock is given.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

SESSION_SECONDS = 12 * 3_600
"""How long a session lasts, whether it is used or not."""

MOST_SESSIONS = 1_000
"""Sessions kept at a time, some 300 bytes each. The oldest ends when one more begins."""


@dataclass(frozen=True, slots=True)
class Session:
    """One log-in. ``csrf`` is what its forms carry; ``who`` is the name of the token that was used."""

    identifier: str
    csrf: str
    ends: float
    who: str
    token_digest: bytes


class Sessions:
    """The sessions of one process. They end with it."""

    def __init__(self, clock: Callable[[], float], valid_digests: Callable[[], Iterable[bytes]]) -> None:
        """``clock``: seconds that never run backwards. ``valid_digests``: of the tokens valid now (`digest_of`)."""
        self._clock = clock
        self._valid_digests = valid_digests
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, token: str, who: str) -> Session:
        """Return a new session for the bearer of a valid token."""
        session = Session(
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(32),
            self._clock() + SESSION_SECONDS,
            who,
            digest_of(token),
        )
        while len(self._sessions) >= MOST_SESSIONS:
            self._sessions.popitem(last=False)
        self._sessions[session.identifier] = session
        return session

    def find(self, identifier: str) -> Session | None:
        """Return the session of this identifier; None when it has ended or its token is valid no more."""
        session = self._sessions.get(identifier)
        if session is None:
            return None
        is_valid = any(hmac.compare_digest(session.token_digest, valid) for valid in self._valid_digests())
        if session.ends <= self._clock() or not is_valid:
            del self._sessions[identifier]
            return None
        return session

    def end(self, identifier: str) -> None:
        """End a session, if it is there."""
        self._sessions.pop(identifier, None)


def digest_of(token: str) -> bytes:
    """Return the SHA-256 of a token, so that no session holds the token itself."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()

"""Sessions: which operators are logged in, until when, and the CSRF token that their forms must carry.

Rules: docs/console.md#sessions. Knows neither cookies nor HTTP. The clock is given.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from answerd.server.roles import AdminTokens, Caller, Role

SESSION_SECONDS = 12 * 3_600
"""How long a session lasts, whether it is used or not."""

MOST_SESSIONS = 1_000
"""Sessions kept at a time, some 300 bytes each. The oldest ends when one more begins."""


@dataclass(frozen=True, slots=True)
class Session:
    """One log-in. ``csrf`` is the token that its forms carry; ``who`` and ``role`` are those of the token that was
    used."""

    identifier: str
    csrf: str
    ends: float
    who: str
    role: Role
    token: str


class Sessions:
    """The sessions of one process. They end with it."""

    def __init__(self, clock: Callable[[], float], tokens: AdminTokens) -> None:
        """``clock``: seconds that never run backwards. ``tokens``: those that are valid now."""
        self._clock = clock
        self._tokens = tokens
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, token: str) -> Session | None:
        """Return a new session for the bearer of a valid token; None for any other token."""
        caller = self._caller(token)
        if caller is None:
            return None
        session = Session(
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(32),
            self._clock() + SESSION_SECONDS,
            caller.name or "admin",
            caller.role,
            token,
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
        caller = self._caller(session.token)
        if session.ends <= self._clock() or caller is None:
            del self._sessions[identifier]
            return None
        return replace(session, role=caller.role) if caller.role is not session.role else session

    def end(self, identifier: str) -> None:
        """End a session, if it is there."""
        self._sessions.pop(identifier, None)

    def _caller(self, token: str) -> Caller | None:
        return self._tokens.find("Bearer " + token.encode().decode("latin-1"))

"""Access to answers: methods, networks and tokens, checked in the header of a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from answerd.addresses import Network
from answerd.server.bearer import presented_token
from answerd.server.http.parser import HttpRequest
from answerd.server.peer import is_within
from answerd.server.roles import hash_of
from answerd.server.statuses import FORBIDDEN, METHOD_NOT_ALLOWED, UNAUTHORIZED

METHODS: Final = ("GET", "POST")
"""Those of answers and of reports, as a 405 names them."""

ANSWERED: Final = (*METHODS, "HEAD")
"""``HEAD`` begins no install and reports nothing: GRUB asks so for the length of a
file before it loads it by UEFI's HTTP."""


class Access:
    """The networks and tokens in force at the answer endpoint of this process. SIGHUP changes them."""

    __slots__ = ("_allow", "_hashes", "_is_open")

    def __init__(self, tokens: Iterable[str] = (), allow: Sequence[Network] = ()) -> None:
        """``allow``: networks that may ask; none means that everyone may."""
        self.change(tokens, allow)

    def change(self, tokens: Iterable[str], allow: Sequence[Network]) -> None:
        """Put others in force, from the next request on. Tokens may hold any characters, which a client sends as
        UTF-8."""
        self._hashes = frozenset(hash_of(token.encode("utf-8", "surrogateescape")) for token in tokens)
        self._allow = tuple(allow)
        self._is_open = not self._hashes and not self._allow

    def fault(self, request: HttpRequest, peer: str) -> int | None:
        """Return the status that the header of a request alone gets; None lets it in."""
        if request.method not in ANSWERED:
            return METHOD_NOT_ALLOWED
        if self._is_open:
            return None
        if self._allow and not is_within(peer, self._allow):
            return FORBIDDEN
        if self._hashes and not self._has_token(request.header.keys.get("HTTP_AUTHORIZATION")):
            return UNAUTHORIZED
        return None

    def _has_token(self, authorization: str | None) -> bool:
        presented = presented_token(authorization)
        return presented is not None and hash_of(presented) in self._hashes

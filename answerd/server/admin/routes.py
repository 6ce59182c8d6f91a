"""Routes: the handler, the least role and the largest body of each method and path.

Knows Bottle's spelling of paths. Must not know the handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import bottle

from answerd.documents import LARGEST_INVENTORY
from answerd.server.roles import Role

DOCUMENT_LIMIT = 262_144
"""Bytes that a document may have (docs/admin-api.md#errors)."""

INVENTORY_LIMIT = LARGEST_INVENTORY
"""Bytes that an inventory may have."""


@dataclass(frozen=True, slots=True)
class Route:
    """One row of docs/admin-api.md#requests. ``path`` is a rule of Bottle's router.

    ``needs`` is the least role of a client where it is not that of the method (`role`). A body may have ``body_limit``
    bytes, and is ``what`` in the error that says so.
    """

    method: str
    path: str
    handler: Callable[..., bottle.HTTPResponse]
    needs: Role | None = None
    body_limit: int = DOCUMENT_LIMIT
    what: str = "a document"

    @property
    def role(self) -> Role:
        """The least role that a client needs: to read for ``GET``, else everything, unless the route says otherwise."""
        return self.needs or (Role.READ if self.method == "GET" else Role.ADMIN)


class Handlers(Protocol):
    """A group of handlers."""

    def routes(self) -> Iterable[Route]:
        """Return the requests that the group answers."""

"""Routes: the handler, the role and the largest body of each method and path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import bottle

from answerd.documents import LARGEST_INVENTORY
from answerd.server.roles import NEEDED, Role

DOCUMENT_LIMIT = 262_144
"""Bytes that a document may have (docs/admin-api.md#errors)."""

INVENTORY_LIMIT = LARGEST_INVENTORY
"""Bytes that an inventory may have."""


_PARAMETER = re.compile(r"<(?P<name>\w+)(?::re:(?P<pattern>[^>]+))?>")


@dataclass(frozen=True, slots=True)
class Route:
    """One row of docs/admin-api.md#requests. ``path`` is a rule of Bottle's router.

    A body may have ``body_limit`` bytes, and is ``what`` in the error that says so.
    """

    method: str
    path: str
    handler: Callable[..., bottle.HTTPResponse]
    body_limit: int = DOCUMENT_LIMIT
    what: str = "a document"

    @property
    def role(self) -> Role | None:
        """The role that a client needs; None where it needs no token."""
        path = _PARAMETER.sub(lambda found: f"{{{found['pattern'] or found['name']}}}", self.path)
        return NEEDED[f"{self.method} {path}"]


class Handlers(Protocol):
    """A group of handlers."""

    def routes(self) -> Iterable[Route]:
        """Return the requests that the group answers."""

"""Routes: which handler answers which method and path, and how large a body it takes.

Knows Bottle's spelling of paths. Must not know what a handler does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import bottle

DOCUMENT_LIMIT = 262_144
"""Bytes that a document may have (docs/admin-api.md#errors)."""


@dataclass(frozen=True, slots=True)
class Route:
    """One row of docs/admin-api.md#requests. ``path`` is a rule of Bottle's router."""

    method: str
    path: str
    handler: Callable[..., bottle.HTTPResponse]


class Handlers(Protocol):
    """A group of handlers."""

    def routes(self) -> Iterable[Route]:
        """Return the requests that the group answers."""

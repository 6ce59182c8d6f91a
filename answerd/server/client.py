"""The client that waits for a response: the part of its connection that an app sees (``answerd.client`` in an
environ)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


class Client(Protocol):
    """The client that waits for the outcome of a write. Times are on the monotonic clock."""

    @property
    def respond_by(self) -> float:
        """When waiting must end, so that a response still arrives."""

    @property
    def deadline(self) -> float:
        """When the connection is closed."""

    def is_gone(self) -> bool:
        """Return whether it has closed its connection. A client that has only finished sending looks the same."""


class Sink(Protocol):
    """A connection that an app has taken over, to go on sending after its response's head."""

    closed: bool

    def push(self, data: bytes, /) -> bool:
        """Send more, and return at once; False where the connection has ended. A client that does not read is cut
        off."""

    def close(self) -> None:
        """End the connection."""


@dataclass(frozen=True, slots=True)
class PatientClient:
    """A client that waits as long as it takes."""

    respond_by: float = math.inf
    deadline: float = math.inf

    def is_gone(self) -> bool:
        """Return False."""
        return False

"""The client that waits for a response: what an app may know of its connection (``answerd.client`` in an environ)."""

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


@dataclass(frozen=True, slots=True)
class PatientClient:
    """A client that waits as long as it takes."""

    respond_by: float = math.inf
    deadline: float = math.inf

    def is_gone(self) -> bool:
        """Return False."""
        return False

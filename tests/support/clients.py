"""Clients that wait for a response, as an app sees them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PatientClient:
    """A client that waits as long as it takes."""

    respond_by: float = math.inf
    deadline: float = math.inf

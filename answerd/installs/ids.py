"""Ids of events and of what is given: they begin with a time."""

from __future__ import annotations

from secrets import token_hex


def new_id(at: float) -> str:
    """Return an id: 48 bits of time, so that an index grows at its end, and 80 that are random."""
    return f"{milliseconds(at):012x}{token_hex(10)}"


def milliseconds(at: float) -> int:
    return max(0, int(at * 1_000))


def begun_at(giving: str) -> int:
    """Return when the attempt of a giving began, in milliseconds; 0 for an id that no giving has."""
    try:
        return int(giving[:12], 16)
    except ValueError:
        return 0

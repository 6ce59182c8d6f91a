"""A record as JSON, for programs: the same for the admin API and the command line (docs/install-once.md#history)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from answerd.installs.memory import Remembered
from answerd.installs.states import Rules, State, is_silent


def timestamp(at: float) -> str:
    """Return a time in UTC to the second: ``2026-11-21T09:14:05Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def as_json(remembered: Remembered, now: float, rules: Rules) -> dict[str, Any]:
    """Return a record as JSON. ``since`` is null for a machine without a state."""
    record = remembered.record
    percent = record.percent
    return {
        "machine": record.name,
        "state": record.state.value,
        "silent": is_silent(record, now, rules),
        "since": timestamp(record.since) if record.state is not State.NEW else None,
        "starts": record.starts,
        "group": remembered.group,
        "message": record.message,
        "percent": int(percent) if percent is not None and percent.is_integer() else percent,
        "identities": list(remembered.identities.values()),
    }

"""A record as JSON, for programs: the same for the admin API and the command line (docs/install-once.md#history)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from answerd.installs.events import Event, Kind
from answerd.installs.fold import FIRST_ATTEMPT, Fold, Strength
from answerd.installs.records import Remembered
from answerd.installs.states import Record, Rules, State, is_silent

MOST_LISTED = 10_000
"""Records of one response of the admin API; ``after=`` asks for those that follow."""


LINES_SHOWN = 30
"""Lines of a report's body that are shown at once, the last ones: the error is in the last lines of a log."""


def last_lines(text: str) -> tuple[str, str]:
    """Return the part of a report's body that comes before its last `LINES_SHOWN` lines, and these."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[:-LINES_SHOWN]), "".join(lines[-LINES_SHOWN:])


def timestamp(at: float) -> str:
    """Return a time in UTC to the second: ``2026-11-21T09:14:05Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def record_as_json(remembered: Remembered, now: float, rules: Rules) -> dict[str, Any]:
    """Return a record as JSON. ``since`` is null for a machine without a state, ``heard`` for one that never asked."""
    record = remembered.record
    percent = record.percent
    return {
        "machine": record.name,
        "state": record.state.value,
        "silent": is_silent(record, now, rules),
        "since": timestamp(record.since) if record.state is not State.NEW else None,
        "heard": timestamp(record.heard) if record.heard else None,
        "last_step": last_step(remembered.fold, record) or None,
        "starts": record.starts,
        "group": remembered.group,
        "message": record.message,
        "percent": int(percent) if percent is not None and percent.is_integer() else percent,
        "identities": list(remembered.identities.values()),
        "conflict": [{"identity": one, **_part(part)} for one, part in remembered.parts] or None,
    }


def _part(record: Record) -> dict[str, Any]:
    return {"state": record.state.value, "since": timestamp(record.since) if record.since else None}


def last_step(fold: Fold, record: Record) -> str:
    """Return what a machine did last in its present start: the document that it was given, a loader's script or an
    answer, or what it reported. Empty where it did nothing. A document that is given again is no new step."""
    attempts = record.attempts or (FIRST_ATTEMPT,)
    start = next((start for start in reversed(fold.starts) if start.number and start.attempt in attempts), None)
    if start is None:
        return ""
    steps = [(at, document) for document, at in start.given.items()]
    if start.news is not None:
        steps.append((start.news.at, "reported progress"))
    if start.strength is not Strength.INSTALLING:
        steps.append((start.at, f"reported {start.strength.name.lower()}"))
    return max(reversed(steps), key=lambda step: step[0], default=(0.0, ""))[1]


class UnknownMachine(NamedTuple):
    """A machine that asked and was claimed by nothing. Times in seconds; ``facts`` is JSON. ``by_default``: a default
    answers it."""

    machine: str
    first: float
    last: float
    asked: int
    facts: str
    by_default: bool = False


def event_as_json(event: Event) -> dict[str, Any]:
    return {
        "at": timestamp(event.at),
        "event": event.kind.value,
        "machine": event.label,
        "detail": event.detail,
        "group": event.group,
        "overlays": list(event.overlays),
        "from": event.origin,
        "counts": event.counts or event.kind is Kind.GIVEN,
        "body": event.body.decode("utf-8", "replace"),
    }


def unknown_as_json(machine: UnknownMachine) -> dict[str, Any]:
    return {
        "machine": machine.machine,
        "first": timestamp(machine.first),
        "last": timestamp(machine.last),
        "asked": machine.asked,
        "facts": orjson.loads(machine.facts or "{}"),
        "answered_by_default": machine.by_default,
    }

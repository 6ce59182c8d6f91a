"""What is known of a machine as JSON, and what a record alone tells (docs/many-nodes.md#how-states-are-merged).

Knows no database. `answerd.installs.merge` says what the evidence means.
"""

from __future__ import annotations

from typing import Any

import orjson

from answerd.installs.merge import Known, Said, Start, Strength
from answerd.installs.states import Record, State

_STRENGTHS = {
    State.INSTALLING: Strength.INSTALLING,
    State.COPIED: Strength.COPIED,
    State.FAILED: Strength.FAILED,
    State.EXHAUSTED: Strength.INSTALLING,
}


def known_as_json(known: Known) -> bytes:
    """Return evidence as JSON, without what is not known: the same evidence always gives the same bytes."""
    told: dict[str, Any] = {"name": known.name, "attempt": known.attempt, "heard": known.heard}
    if known.was_armed:
        told["armed"] = True
    for name in ("began", "disarmed", "refused"):
        if getattr(known, name) is not None:
            told[name] = getattr(known, name)
    if known.starts:
        told["starts"] = {str(number): _start_as_json(start) for number, start in sorted(known.starts.items())}
    return orjson.dumps(told, option=orjson.OPT_SORT_KEYS)


def known_from_json(text: str | bytes) -> Known:
    """Return the evidence that `known_as_json` wrote. Raises `ValueError` for anything else."""
    try:
        told = orjson.loads(text)
        starts = told.get("starts", {})
        return Known(
            told["name"],
            int(told["attempt"]),
            bool(told.get("armed")),
            told.get("began"),
            told.get("disarmed"),
            told.get("refused"),
            {number: _start_from_json(starts[str(number)]) for number in sorted(map(int, starts))},
            told["heard"],
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("this is no evidence of a machine's install") from None


def known_of(record: Record) -> Known:
    """Return the evidence that a record alone gives: for the states of a service on one machine that are moved into a
    database of many nodes. Earlier starts are known by their number only."""
    word = _STRENGTHS.get(record.state)
    if record.state is State.INSTALLED:
        word = Strength.INSTALLING if record.by_operator else Strength.INSTALLED
    starts = {number: Start(record.since) for number in range(1, record.starts + 1)}
    if word is not None:
        number = max(1, record.starts)
        said = Said(word, record.since, record.message or "", -1.0 if record.percent is None else record.percent)
        has_news = record.message is not None or record.percent is not None
        at = record.since if word else 0.0
        starts[number] = Start(record.since, word, at, dict(record.given), said if has_news else None)
    is_exhausted = record.state is State.EXHAUSTED
    return Known(
        record.name,
        record.attempt,
        record.was_armed,
        record.since if record.state in (State.ARMED, State.NEW) and record.since else None,
        record.since if record.by_operator else None,
        record.since if is_exhausted else None,
        starts,
        record.heard,
    )


def _start_as_json(start: Start) -> dict[str, Any]:
    told: dict[str, Any] = {"began": start.began, "word": start.strength.name.lower(), "at": start.at}
    if start.given:
        told["given"] = dict(start.given)
    if start.said is not None:
        told["said"] = [start.said.strength.name.lower(), start.said.at, start.said.message, start.said.percent]
    return told


def _start_from_json(told: dict[str, Any]) -> Start:
    said = told.get("said")
    return Start(
        told["began"],
        Strength[told["word"].upper()],
        told["at"],
        dict(sorted(told.get("given", {}).items())),
        None if said is None else Said(Strength[said[0].upper()], said[1], said[2], said[3]),
    )
